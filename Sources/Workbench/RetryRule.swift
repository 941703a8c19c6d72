/// The conditions for a retry of a failed request.
public enum RetryRule: Sendable, Hashable, CaseIterable {
    /// Never: the same request fails in the same way.
    case never
    /// After a pause, unchanged.
    case later
    /// As a new request, after the cause is fixed.
    case mended
    /// After a check whether the request succeeded.
    case checked
    /// Each failed item has its own error and rule.
    case perItem

    /// A short description of the rule.
    public var title: String {
        switch self {
        case .never: "don't retry"
        case .later: "retry later"
        case .mended: "fix it, then retry"
        case .checked: "check first, then retry"
        case .perItem: "decide for each item"
        }
    }
}
