package org.example.shop;

import java.util.List;
import java.util.Map;

/** A class Named in a comment. */
public final class Shop<T extends Comparable<T>> implements AutoCloseable {
    private static final int LIMIT = 10;
    private final Map<String, List<T>> shelves;

    public Shop(Map<String, List<T>> shelves) {
        this.shelves = shelves;
    }

    @Override
    public void close() {
        shelves.clear();
    }

    public static <K, V> Map<K, List<V>> sorted(Map<K, List<V>> rows) throws IllegalStateException {
        if (rows.isEmpty()) {
            throw new IllegalStateException("empty");
        }
        return rows;
    }

    int packagePrivate(int a,
                       int b) {
        return a + b;
    }

    public record Price(int cents, String currency) {
        Price {
            if (cents < 0) throw new IllegalArgumentException();
        }
    }

    sealed interface Shape permits Circle, Square {
        double area();
    }

    enum Colour { RED, GREEN }

    @interface Marked {}
}
