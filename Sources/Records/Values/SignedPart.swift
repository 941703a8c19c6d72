/// A part of a message that a server-to-server key signs: the expected value and, if known, the one that the client
/// signed.
package struct SignedPart: Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        case matches, differs, unknown
    }

    /// `date`, `body hash`, `target`, or what else may differ: `message`, `signed`, `key`, `signature`.
    package let name: String
    package let expected: String
    package let received: String?
    package let state: State

    package init(name: String, expected: String, received: String?, state: State) {
        self.name = name
        self.expected = expected
        self.received = received
        self.state = state
    }
}
