internal import Console

/// A token in the output of a page.
struct TokenOutput: ViewModel {
    let text: String
    /// The link to the changes since the token.
    let again: String
    let explain: String
}
