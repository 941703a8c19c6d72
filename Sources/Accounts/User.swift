internal import Crypto
public import JSON

/// Somebody who has data: a person with a private database in every container.
public struct User: Sendable, Hashable {
    /// The handle of the user that requests without a name belong to.
    public static let developerHandle = "developer"

    /// The short name by which requests and people pick the user: `developer`, `anna`.
    public let handle: String
    /// The name of the user's record, as records carry it in `created` and `modified`: `_` and 32 hexadecimal digits.
    public let userRecordName: Name
    /// The name for people.
    public let displayName: String

    init(handle: String, userRecordName: Name, displayName: String) {
        self.handle = handle
        self.userRecordName = userRecordName
        self.displayName = displayName
    }

    /// A user as the handle alone determines it.
    init(handle: String) {
        let isRecordName = Self.isRecordName(handle)
        self.init(
            handle: handle, userRecordName: Self.recordName(ofHandle: handle),
            displayName: isRecordName ? handle : handle.prefix(1).uppercased() + handle.dropFirst())
    }

    /// The user record name that belongs to a handle. It depends on nothing else, so the same handle means the same user in every store;
    /// a handle that is itself a user record name stands for that user.
    public static func recordName(ofHandle handle: String) -> Name {
        if isRecordName(handle) { return Name(handle) }
        let digits = SHA256.hash(data: Array(handle.utf8)).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return Name("_" + digits.joined())
    }

    /// Whether a text has the form of a user record name: `_` and 32 lower-case hexadecimal digits.
    public static func isRecordName(_ text: String) -> Bool {
        text.utf8.count == 33 && text.utf8.first == UInt8(ascii: "_")
            && text.utf8.dropFirst().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                default: false
                }
            }
    }
}
