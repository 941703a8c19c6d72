/// A token that a page hands out.
struct TokenOutput: ViewModel {
    let text: String
    /// Asks for what happened since.
    let again: String
    let explain: String
}
