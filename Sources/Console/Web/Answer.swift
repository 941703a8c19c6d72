/// The result of a handler.
enum Answer: Sendable {
    case page(any Page)
    case redirect(String)
}
