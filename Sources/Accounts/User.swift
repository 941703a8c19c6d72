internal import Crypto
public import JSON
public import Records

/// Somebody who has data: a person with a private database in every container.
public struct User: Sendable, Hashable {
    /// The handle of the user that requests without a name belong to.
    public static let developerHandle = "developer"

    /// Most users.
    public static let countLimit = 10_000
    /// Longest handle, in UTF-8 bytes.
    public static let handleLimit = 255
    /// What the handles of server-to-server keys' users begin with; 12 hexadecimal digits follow.
    static let serverKeyPrefix = "server-key-"

    /// The short name by which requests and people pick the user: `developer`, `anna`.
    public let handle: String
    /// The name of the user's record, as records carry it in `created` and `modified`: `_` and 32 hexadecimal digits.
    public let userRecordName: Name
    /// The name for people.
    public let displayName: String
    /// By which others find the user; nobody else has the same. `nil` when the user was made without.
    public let emailAddress: String?
    /// When the user was made; `nil` when that was before it was noted.
    public let made: Timestamp?
    public let maker: Maker

    /// How a user came to be.
    public enum Maker: Sendable, Hashable {
        /// By whoever administers the server, or by a request that named the user.
        case server
        /// By a sign-in with the API token of an id.
        case apiToken(String)
        /// By a sign-in without one: anybody.
        case stranger
    }

    init(
        handle: String, userRecordName: Name, displayName: String, emailAddress: String? = nil, made: Timestamp? = nil, maker: Maker = .server
    ) {
        self.handle = handle
        self.userRecordName = userRecordName
        self.displayName = displayName
        self.emailAddress = emailAddress
        self.made = made
        self.maker = maker
    }

    /// The name but for its last word: what CloudKit calls `givenName` of the name's components.
    public var givenName: String {
        nameWords.count > 1 ? nameWords.dropLast().map { String($0) }.joined(separator: " ") : displayName
    }

    /// The last word of a name that has several: what CloudKit calls `familyName`.
    public var familyName: String? {
        nameWords.count > 1 ? nameWords.last.map { String($0) } : nil
    }

    private var nameWords: [Substring.UnicodeScalarView.SubSequence] {
        displayName.unicodeScalars.split { $0.properties.isWhitespace }
    }

    /// The handle that somebody new gets: what stands before the @ of the address, else the name's letters and digits.
    static func handle(displayName: String, emailAddress: String?) -> String {
        let text = emailAddress.flatMap { $0.unicodeScalars.split(separator: "@").first.map { String($0) } } ?? displayName
        var handle = ""
        for scalar in text.lowercased().unicodeScalars {
            if scalar.properties.isAlphabetic || scalar.properties.numericType != nil || "._+".unicodeScalars.contains(scalar) {
                handle.unicodeScalars.append(scalar)
            } else if !handle.utf8.isEmpty, handle.utf8.last != UInt8(ascii: "-") {
                handle += "-"
            }
        }
        handle = String(handle.unicodeScalars.prefix(40))
        while handle.utf8.last == UInt8(ascii: "-") { handle.unicodeScalars.removeLast() }
        return handle.isEmpty ? "user" : handle
    }

    /// A user as the handle alone determines it.
    init(handle: String, made: Timestamp? = nil, maker: Maker = .server) {
        let isRecordName = Self.isRecordName(handle)
        self.init(
            handle: handle, userRecordName: Self.recordName(ofHandle: handle),
            displayName: isRecordName ? handle : handle.prefix(1).uppercased() + handle.dropFirst(), made: made, maker: maker)
    }

    /// - Throws: `RecordError` BAD_REQUEST when a text can't be a handle: it is empty, longer than ``handleLimit``, or holds control characters.
    public static func check(handle: String) throws(RecordError) {
        guard !handle.isEmpty else { throw RecordError(.badRequest, "The user's handle is empty; give one such as 'anna'") }
        guard handle.utf8.count <= handleLimit else {
            throw RecordError(.badRequest, "The user's handle is longer than \(handleLimit) bytes; pick a shorter one")
        }
        guard handle.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw RecordError(.badRequest, "The user's handle holds control characters; use letters and digits")
        }
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

    /// Whether the user is a server-to-server key's, and no person.
    public var isServerKey: Bool { Self.isHandleOfServerKey(handle) }

    /// Whether only the user of a server-to-server key goes by a handle.
    static func isHandleOfServerKey(_ handle: String) -> Bool {
        let bytes = handle.utf8
        guard bytes.count == serverKeyPrefix.utf8.count + 12, bytes.starts(with: serverKeyPrefix.utf8) else { return false }
        return bytes.suffix(12).allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    /// Whether a text has the form of a user record name: `_` and 32 lower-case hexadecimal digits.
    public static func isRecordName(_ text: String) -> Bool {
        Name(text).isUserRecordName
    }
}
