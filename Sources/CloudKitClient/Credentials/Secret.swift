internal import Text

/// A text that nobody may see by accident. Neither its description nor its reflection contains it.
struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String { "(hidden)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// A text of the server without these secrets, should it repeat them.
    func hiding(_ secrets: [Secret]) -> String {
        // A short one is no real credential, and its letters occur in any text.
        secrets.reduce(self) { text, secret in
            guard secret.text.utf8.count >= 8 else { return text }
            return text.replacing(secret.text, with: secret.description).replacing(PercentEncoding.encoded(secret.text), with: secret.description)
        }
    }
}
