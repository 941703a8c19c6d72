/// What a handler gives back.
enum Answer: Sendable {
    case page(any Page)
    case redirect(String)
}
