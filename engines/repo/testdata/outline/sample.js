import { readFile } from "node:fs/promises";

export const LIMIT = 10;
const hidden = 3;

export async function load(path) {
  const text = await readFile(path, "utf8");
  return text.split("\n");
}

export default function (rows) {
  return rows.map((row) => row.trim());
}

function* numbers() {
  yield* [1, 2, 3];
}

export const double = (n) => n * 2;
const later = async function (n) {
  return new Promise((resolve) => setTimeout(resolve, n));
};

class Shelf extends Array {
  #size = 0;

  static of(...books) {
    return new Shelf(books);
  }

  get size() {
    return this.#size;
  }

  async put(book) {
    if (book) {
      this.push(book);
    }
    for (const each of this) {
      console.log(each);
    }
  }
}

module.exports = { Shelf };
exports.helper = function helper() {};
