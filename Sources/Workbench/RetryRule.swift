/// Whether the request that failed can be sent again.
public enum RetryRule: Sendable, Hashable, CaseIterable {
    /// The same request fails the same way.
    case never
    /// As it is, after a pause.
    case later
    /// When what it names is mended, as a new request.
    case mended
    /// When it is known whether it succeeded already.
    case checked
    /// Each failed item has an error, and a rule, of its own.
    case perItem

    /// The rule in a few words.
    public var title: String {
        switch self {
        case .never: "don't send it again"
        case .later: "send it again later"
        case .mended: "mend it, then send it again"
        case .checked: "look first, then send it again"
        case .perItem: "decide for each item"
        }
    }
}
