public final class Sample<T> extends Base {
    public static void main(String[] args) {
        return call(x);
    }
    private List<String> names(int a) throws IOException {
    interface Inner {
    enum Kind { A }
    record Point(int x) {}
}
