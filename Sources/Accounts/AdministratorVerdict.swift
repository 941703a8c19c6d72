/// What came of an administrator's password.
public enum AdministratorVerdict: Sendable, Hashable {
    case accepted
    case refused
    /// Too many wrong ones came lately: whole seconds until the next is looked at.
    case tooMany(retryAfter: Int)
    /// There is no password that could be right.
    case notSet
}
