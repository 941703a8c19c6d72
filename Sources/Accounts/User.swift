internal import Crypto
public import Records

/// A user, who has a private database in each container.
public struct User: Sendable, Hashable {
    /// The handle of the default user, for requests that name no user.
    public static let developerHandle = "developer"

    /// Maximum number of users.
    public static let countLimit = 10_000
    /// Maximum length of a handle in UTF-8 bytes.
    public static let handleLimit = 255
    /// Prefix of the handles of server-to-server keys' users, followed by 12 hexadecimal digits.
    static let serverKeyPrefix = "server-key-"

    /// The short name that identifies the user in requests and for people: `developer`, `anna`.
    public let handle: String
    /// The name of the user's record, as in `created` and `modified` of records: `_` and 32 hexadecimal digits.
    public let userRecordName: Name
    /// The name for display.
    public let displayName: String
    /// A unique address by which others can find the user; `nil` if there is none.
    public let emailAddress: String?
    /// Creation time; `nil` for users created before it was recorded.
    public let made: Timestamp?
    public let maker: Maker

    /// The origin of a user.
    public enum Maker: Sendable, Hashable {
        /// Created by an administrator or by a request that named the user.
        case server
        /// Created by a sign-in with an API token, identified by its id.
        case apiToken(String)
        /// Created by a sign-in without an API token.
        case stranger
    }

    public init(
        handle: String, userRecordName: Name, displayName: String, emailAddress: String? = nil, made: Timestamp? = nil,
        maker: Maker = .server
    ) {
        self.handle = handle
        self.userRecordName = userRecordName
        self.displayName = displayName
        self.emailAddress = emailAddress
        self.made = made
        self.maker = maker
    }

    /// The name without its last word; CloudKit's `givenName`.
    public var givenName: String {
        nameWords.count > 1 ? nameWords.dropLast().map { String($0) }.joined(separator: " ") : displayName
    }

    /// The last word of a name with several words; CloudKit's `familyName`.
    public var familyName: String? {
        nameWords.count > 1 ? nameWords.last.map { String($0) } : nil
    }

    private var nameWords: [Substring.UnicodeScalarView.SubSequence] {
        displayName.unicodeScalars.split { $0.properties.isWhitespace }
    }

    /// The handle for a new user: the part of the address before the @, or else the letters and digits of the name.
    static func handle(displayName: String, emailAddress: String?) -> String {
        let text =
            emailAddress.flatMap { $0.unicodeScalars.split(separator: "@").first.map { String($0) } } ?? displayName
        var handle = ""
        for scalar in text.lowercased().unicodeScalars {
            if scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "._+".unicodeScalars.contains(scalar)
            {
                handle.unicodeScalars.append(scalar)
            } else if !handle.utf8.isEmpty, handle.utf8.last != UInt8(ascii: "-") {
                handle += "-"
            }
        }
        handle = String(handle.unicodeScalars.prefix(40))
        while handle.utf8.last == UInt8(ascii: "-") { handle.unicodeScalars.removeLast() }
        return handle.isEmpty ? "user" : handle
    }

    /// A user derived from the handle alone.
    init(handle: String, made: Timestamp? = nil, maker: Maker = .server) {
        let isRecordName = Self.isRecordName(handle)
        self.init(
            handle: handle, userRecordName: Self.recordName(ofHandle: handle),
            displayName: isRecordName ? handle : handle.prefix(1).uppercased() + handle.dropFirst(), made: made,
            maker: maker)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the handle is empty, longer than ``handleLimit`` or contains control
    ///   characters.
    public static func check(handle: String) throws(RecordError) {
        guard !handle.isEmpty else {
            throw RecordError(.badRequest, "The user's handle is empty; use one such as 'anna'")
        }
        guard handle.utf8.count <= handleLimit else {
            throw RecordError(
                .badRequest, "The user's handle is longer than \(handleLimit) bytes; choose a shorter one")
        }
        guard handle.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw RecordError(.badRequest, "The user's handle contains control characters; use letters and digits")
        }
    }

    /// The user record name for a handle. Derived from the handle alone, so that a handle means the same user in each
    /// store. A handle that is itself a user record name stands for that user.
    public static func recordName(ofHandle handle: String) -> Name {
        if isRecordName(handle) { return Name(handle) }
        return Name("_" + Hexadecimal.text(of: SHA256.hash(data: Array(handle.utf8)).prefix(16)))
    }

    /// True if the user belongs to a server-to-server key.
    public var isServerKey: Bool { Self.isHandleOfServerKey(handle) }

    /// True if the handle is reserved for users of server-to-server keys.
    static func isHandleOfServerKey(_ handle: String) -> Bool {
        let bytes = handle.utf8
        guard bytes.count == serverKeyPrefix.utf8.count + 12, bytes.starts(with: serverKeyPrefix.utf8) else {
            return false
        }
        return bytes.suffix(12).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    /// True if the text has the form of a user record name: `_` and 32 lowercase hexadecimal digits.
    public static func isRecordName(_ text: String) -> Bool {
        Name(text).isUserRecordName
    }
}

// MARK: - Sign-in

/// A sign-in that may create a user. Its parts determine the limits (``UserAdmission``).
public struct UserSignIn: Sendable, Hashable {
    /// Id of the app's API token; `nil` if it sent none.
    public let apiTokenID: String?
    /// Address of the client.
    public let peer: String

    public init(apiTokenID: String?, peer: String) {
        self.apiTokenID = apiTokenID
        self.peer = peer
    }

    var maker: User.Maker { apiTokenID.map(User.Maker.apiToken) ?? .stranger }
}

extension User.Maker {
    private static let (serverText, strangerText) = ("server", "stranger")

    /// The value stored in the file.
    var text: String {
        switch self {
        case .server: Self.serverText
        case .stranger: Self.strangerText
        case .apiToken(let id): id
        }
    }

    init(text: String) {
        self =
            switch text {
            case Self.serverText: .server
            case Self.strangerText: .stranger
            default: .apiToken(text)
            }
    }
}

// MARK: - Users in memory

/// All users in memory, indexed by handle, record name and e-mail address.
struct KnownUsers {
    /// Minimum change of a user's last request time that is written, in milliseconds: ten minutes.
    private static let seenStep: Int64 = 600_000

    private var users: [Name: User] = [:]
    private var handlesByRecordName: [Name: Name] = [:]
    private var handlesByEmailAddress: [Name: Name] = [:]
    /// Sorted users; `nil` after a change.
    private var ordered: [User]?
    /// Time of the last request by record name, and the time last written.
    private var seen: [Name: (last: Timestamp, written: Timestamp)] = [:]
    /// Record names of removed users. Their data still exist under these names, so sign-ins can't use them.
    var removed: Set<Name> = []

    init(_ users: [User] = [], seen: [Name: Timestamp] = [:], removed: Set<Name> = []) {
        for user in users { insert(user) }
        self.seen = seen.mapValues { ($0, $0) }
        self.removed = removed
    }

    var count: Int { users.count }

    /// All users: the developer first, then by handle.
    var all: [User] {
        mutating get {
            if let ordered { return ordered }
            let developer = Name(User.developerHandle)
            let others = users.filter { $0.key != developer }.sorted { $0.key < $1.key }.map(\.value)
            let all = (users[developer].map { [$0] } ?? []) + others
            ordered = all
            return all
        }
    }

    /// Number of users created by a maker.
    func count(by maker: User.Maker) -> Int { users.values.count { $0.maker == maker } }

    // MARK: Recent users

    func lastSeen(_ recordName: Name) -> Timestamp? { seen[recordName]?.last }

    /// Records a user's request.
    /// - Returns: `true` if the new time should be written.
    mutating func see(_ recordName: Name, at now: Timestamp) -> Bool {
        let before = seen[recordName]
        let isWorth =
            before.map { now.milliseconds.subtractingSaturated($0.written.milliseconds) >= Self.seenStep } ?? true
        seen[recordName] = (max(before?.last ?? now, now), isWorth ? now : before?.written ?? now)
        return isWorth
    }

    /// The users with the most recent requests, latest first, followed by the most recently created ones.
    func recent(_ limit: Int) -> [User] {
        func rank(_ user: User) -> (Int64, Int64) {
            (seen[user.userRecordName]?.last.milliseconds ?? .min, user.made?.milliseconds ?? .min)
        }
        var recent: [(rank: (Int64, Int64), user: User)] = []
        for user in users.values where !user.isServerKey {
            let rank = rank(user)
            func isLater(_ other: (rank: (Int64, Int64), user: User)) -> Bool {
                rank == other.rank ? Name(user.handle) < Name(other.user.handle) : rank > other.rank
            }
            if recent.count == limit, let last = recent.last, !isLater(last) { continue }
            recent.insert((rank, user), at: recent.firstIndex(where: isLater) ?? recent.endIndex)
            if recent.count > limit { recent.removeLast() }
        }
        return recent.map(\.user)
    }

    // MARK: Finding

    subscript(handle: Name) -> User? { users[handle] }

    func user(recordName: Name) -> User? {
        handlesByRecordName[recordName].flatMap { users[$0] }
    }

    /// The user with an e-mail address, ignoring case.
    func user(emailAddress: String) -> User? {
        handlesByEmailAddress[Self.key(emailAddress)].flatMap { users[$0] }
    }

    /// Adds a user, replacing one with the same record name.
    mutating func insert(_ user: User) {
        if let other = self.user(recordName: user.userRecordName) { remove(other) }
        ordered = nil
        removed.remove(user.userRecordName)
        let handle = Name(user.handle)
        users[handle] = user
        handlesByRecordName[user.userRecordName] = handle
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = handle }
    }

    mutating func remove(_ user: User) {
        ordered = nil
        users[Name(user.handle)] = nil
        handlesByRecordName[user.userRecordName] = nil
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = nil }
    }

    /// Removes a user and remembers the record name as removed.
    mutating func forget(_ user: User) {
        remove(user)
        seen[user.userRecordName] = nil
        removed.insert(user.userRecordName)
    }

    private static func key(_ emailAddress: String) -> Name {
        Name(emailAddress.trimmingWhiteSpace.lowercased())
    }
}
