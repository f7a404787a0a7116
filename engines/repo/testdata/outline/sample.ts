export interface Row<T> { path: string }
export type Id = string | number;
export default class Store extends Base {
  read(path: string) {}
}
export async function load(path: string): Promise<Row<Id>> {
const pick = (a: number) => a;
export const limit = 3;
enum Kind { A }
if (limit) { }
