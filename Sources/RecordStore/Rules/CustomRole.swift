internal import Crypto
public import JSON

/// The numbers of custom roles in user records.
///
/// CloudKit stores numbers in the field `roles` of type Users and does not document their origin. Skylight derives a
/// role's number from its name, so that it is the same in each environment and after a reset.
public enum CustomRole {
    /// Number of digest bytes used. The result is positive and exact in JavaScript.
    private static let length = 5

    /// The number of a role: the first five bytes of the SHA-256 of its name, big-endian.
    public static func number(of role: Name) -> Int64 {
        SHA256.hash(data: Array(role.utf8)).prefix(length).reduce(0) { $0 << 8 | Int64($1) }
    }
}
