import type { Request } from "./request";

export interface Shelf<T> {
  readonly size: number;
  put(book: T): Promise<void>;
}

export type Handler = (request: Request) => Promise<Response>;
type Pair<A, B = A> = [A, B];

export const enum Level {
  Low,
  High,
}

declare module "shelf" {
  export function open(path: string): Shelf<string>;
}

export abstract class Store<T extends object> implements Shelf<T> {
  constructor(private readonly rows: T[]) {}

  abstract get size(): number;

  public async put(book: T): Promise<void> {
    this.rows.push(book);
  }

  protected static from<U extends object>(rows: U[]): Store<U> {
    throw new Error("not here");
  }
}

export const handle: Handler = async (request) => {
  return new Response(request.url);
};

export default async function main(): Promise<void> {
  await handle({} as Request);
}
