/// The result of a handler.
package enum Answer: Sendable {
    case page(any Page)
    case redirect(String)
}
