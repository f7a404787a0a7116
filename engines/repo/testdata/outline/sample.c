#include <stdio.h>

#define BUFFER_SIZE 4096
#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct node;

struct node {
    struct node *next;
    int value;
};

typedef struct {
    int width;
} size;

enum colour { RED, GREEN };

static int counter = 0;

/* A prototype defines nothing. */
int list_length(const struct node *head);

int list_length(const struct node *head)
{
    int length = 0;
    for (; head; head = head->next)
        length++;
    return length;
}

static inline struct node *list_push(struct node *head, struct node *pushed) {
    pushed->next = head;
    if (counter > BUFFER_SIZE) {
        return NULL;
    }
    return pushed;
}

void
on_a_line_of_its_own(void)
{
    printf("not_a_definition(%d)\n", counter);
}

int main(int argc, char **argv)
{
    return list_length(NULL) + argc;
}
