/// The result of checking an administrator's password.
public enum AdministratorVerdict: Sendable, Hashable {
    case accepted
    case refused
    /// Too many wrong attempts. Contains the seconds until the next attempt is checked.
    case tooMany(retryAfter: Int)
    /// No password is set.
    case notSet
}
