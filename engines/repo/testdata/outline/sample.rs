pub(crate) mod store;
pub struct Store<T> {
impl<T: Clone> Store<T> {
    pub async fn open(path: &str) -> Self {
}
enum Kind { A }
pub trait Read {
macro_rules! row {
type Id = u64;
