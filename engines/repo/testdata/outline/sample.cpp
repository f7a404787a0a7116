#define LIMIT 3
namespace store {
template <typename T> class Row : Base {
struct Point {
int main(int argc, char **argv) {
static const char *name(void)
Row::Row(int a) : a_(a) {
int declared(void);
  if (a) {
enum class Kind { A };
