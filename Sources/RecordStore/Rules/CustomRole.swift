internal import Crypto
public import JSON

/// The numbers by which a user's record names the roles of the developer's own.
///
/// CloudKit keeps numbers in the field `roles` of the type Users and does not say how it gives them out. Skylight takes a role's number from
/// its name, so that the same role has the same number in every environment and after a reset.
public enum CustomRole {
    /// Bytes of the digest that make the number: positive, and exact in JavaScript too.
    private static let length = 5

    /// The number of a role: the first five bytes of the SHA-256 of its name, the most significant first.
    public static func number(of role: Name) -> Int64 {
        SHA256.hash(data: Array(role.utf8)).prefix(length).reduce(0) { $0 << 8 | Int64($1) }
    }
}
