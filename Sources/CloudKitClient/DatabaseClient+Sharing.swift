public import Records

// These services are at the public database's address, whichever database asks, and need a web auth token.

extension DatabaseClient {
    /// Tells the shares that links lead to, any number of them (`records/resolve`).
    /// - Parameters:
    ///   - shortGUIDs: the last parts of the links' paths.
    ///   - fetchesRoots: true to get the records at the top too.
    /// - Returns: a share or an error per link, in their order.
    public func resolveShares(_ shortGUIDs: [String], fetchesRoots: Bool = true) async throws -> [Result<
        ReceivedShareMetadata, ServerError
    >] {
        try await follow(shortGUIDs, fetchesRoots, "records/resolve", .reads)
    }

    /// Lets the user take part in the shares that links lead to, any number of them (`records/accept`). Their zones are
    /// in the shared database then. A second acceptance changes nothing, so a lost answer is asked for again.
    /// - Parameters: as for ``resolveShares(_:fetchesRoots:)``.
    /// - Returns: a share or an error per link, in their order.
    public func acceptShares(_ shortGUIDs: [String], fetchesRoots: Bool = true) async throws -> [Result<
        ReceivedShareMetadata, ServerError
    >] {
        try await follow(shortGUIDs, fetchesRoots, "records/accept", .savesRepeatably)
    }

    private func follow(
        _ shortGUIDs: [String], _ fetchesRoots: Bool, _ action: String, _ effect: ServiceCall.Effect
    ) async throws -> [Result<ReceivedShareMetadata, ServerError>] {
        try await inParts(shortGUIDs) { part in
            let call = try ServiceCall(action, under: container.database(.public).root, effect, items: "results") {
                (writer) throws(CloudKitFailure) in
                try writer.member("shortGUIDs", part) { writer, shortGUID in
                    writer.member("value", shortGUID)
                    writer.member("shouldFetchRootRecord", fetchesRoots)
                }
            }
            return try await send(call) { answer in
                try zip(answer.objects("results", count: part.count), part).map { object, shortGUID in
                    try object.result { try ReceivedShareMetadata($0, of: shortGUID) }
                }
            }
        }
    }
}

// MARK: - Shares in answers

/// A participant of a share as CloudKit's answer has it.
public struct ReceivedParticipant: Sendable, Hashable {
    /// A type, a status or a permission that this client does not know counts as USER, INVITED or NONE.
    public var participant: ShareParticipant
    /// The user, with the names that CloudKit tells.
    public var user: ReceivedUser
    /// The answer itself, with the members that this type has no property for.
    public var json: JSONObject

    init(_ object: JSONObject) {
        json = object
        let identity = object.object("userIdentity") ?? JSONObject()
        let info = identity.object("lookupInfo")
        user = ReceivedUser(identity)
        participant = ShareParticipant(
            participantID: object.string("participantId") ?? object.string("participantID") ?? "",
            userRecordName: identity.name("userRecordName"),
            lookupInfo: LookupInfo(
                emailAddress: info?.string("emailAddress"), phoneNumber: info?.string("phoneNumber"),
                userRecordName: info?.name("userRecordName")),
            role: object.string("type").flatMap { ShareParticipant.Role(rawValue: $0) } ?? .user,
            status: object.string("acceptanceStatus").flatMap { ShareParticipant.Status(rawValue: $0) } ?? .invited,
            permission: object.string("permission").flatMap { SharePermission(rawValue: $0) } ?? .none,
            // Only Skylight tells it.
            accepted: object.integer("acceptedTimestamp").map { Timestamp(milliseconds: $0) })
    }
}

extension ReceivedRecord {
    /// Sharing's part of the record; `nil` if it is neither shared nor a share. CloudKit does not tell the root of a
    /// share.
    public var sharing: RecordSharing? {
        if shortGUID == nil, share == nil, participants == nil { return nil }
        let top = participants.map { participants in
            let all = participants.map(\.participant)
            // The owner comes first, also where the list begins with another one.
            let sorted = all.filter { $0.role == .owner } + all.filter { $0.role != .owner }
            return Share(
                rootName: others.name("rootRecordName"), shortGUID: shortGUID ?? "",
                publicPermission: publicPermission ?? .none, participants: sorted)
        }
        return RecordSharing(shortGUID: shortGUID, shareName: share?.recordName, share: top)
    }
}

/// A share that a link leads to, as CloudKit's answer has it. Members that were not in the answer are `nil`.
public struct ReceivedShareMetadata: Sendable, Hashable {
    /// The identifier in the link.
    public var shortGUID: String
    /// The container of the share, such as `iCloud.com.example.App`.
    public var containerIdentifier: String?
    /// The user's database with the share: private for the owner, else shared.
    public var databaseScope: DatabaseScope?
    /// The share's own record, with its title and, if the user may see them, its participants.
    public var share: ReceivedRecord
    /// `nil` for the share of a whole zone.
    public var rootRecordName: Name?
    /// The record at the top, if it was asked for.
    public var rootRecord: ReceivedRecord?
    /// The user whose share it is.
    public var owner: ReceivedUser?
    /// The part that the user who asks has in the share.
    public var participantType: ShareParticipant.Role?
    /// If the user who asks was invited, has accepted, or has left.
    public var participantStatus: ShareParticipant.Status?
    /// The right of the user who asks.
    public var participantPermission: SharePermission?
    /// The answer itself, with the members that this type has no property for.
    public var json: JSONObject

    /// - Throws: ``UnexpectedShape`` if the answer has no share.
    init(_ object: JSONObject, of shortGUID: String) throws {
        guard let record = object.object("share") else { throw UnexpectedShape(expected: "an object 'share'") }
        json = object
        self.shortGUID = object.object("shortGUID")?.string("value") ?? shortGUID
        containerIdentifier = object.string("containerIdentifier")
        databaseScope = object.string("databaseScope").flatMap { DatabaseScope(rawValue: $0.lowercased()) }
        owner = object.object("ownerIdentity").map { ReceivedUser($0) }
        // The owner is sometimes missing from the zone.
        var zoneID = object.zoneID ?? .default
        if zoneID.ownerRecordName == nil { zoneID.ownerRecordName = owner?.userRecordName }
        share = try ReceivedRecord(record, in: zoneID)
        rootRecordName = object.name("rootRecordName")
        rootRecord = try object.object("rootRecord").map { try ReceivedRecord($0, in: zoneID) }
        participantType = object.string("participantType").flatMap { ShareParticipant.Role(rawValue: $0) }
        participantStatus = object.string("participantStatus").flatMap { ShareParticipant.Status(rawValue: $0) }
        participantPermission = object.string("participantPermission").flatMap { SharePermission(rawValue: $0) }
        if share.recordID.zoneID.ownerRecordName == nil {
            share.recordID.zoneID.ownerRecordName = zoneID.ownerRecordName
        }
        if rootRecord?.recordID.zoneID.ownerRecordName == nil {
            rootRecord?.recordID.zoneID.ownerRecordName = zoneID.ownerRecordName
        }
    }
}

// MARK: - Users

/// A user as CloudKit's answer has it: name, and the address by which the user was looked up or invited. A user shows
/// others no more than permitted, so that every property may be missing.
public struct ReceivedUser: Sendable, Hashable {
    public var userRecordName: Name?
    public var givenName: String?
    public var familyName: String?
    public var emailAddress: String?
    public var phoneNumber: String?
    /// The answer itself.
    public var json: JSONObject

    /// Reads both forms: with `nameComponents` and `lookupInfo`, and the older one without nested objects.
    init(_ object: JSONObject) {
        json = object
        let names = object.object("nameComponents")
        let info = object.object("lookupInfo")
        userRecordName = object.name("userRecordName") ?? info?.name("userRecordName")
        givenName = names?.string("givenName") ?? object.string("firstName")
        familyName = names?.string("familyName") ?? object.string("lastName")
        emailAddress = info?.string("emailAddress") ?? object.string("emailAddress")
        phoneNumber = info?.string("phoneNumber") ?? object.string("phoneNumber")
    }
}

/// The key by which a user is looked up.
public enum UserKey: Sendable, Hashable {
    case emailAddress(String)
    case phoneNumber(String)
    case userRecordName(Name)

    fileprivate var member: (Name, String) {
        switch self {
        case .emailAddress(let address): ("emailAddress", address)
        case .phoneNumber(let number): ("phoneNumber", number)
        case .userRecordName(let name): ("userRecordName", name.string)
        }
    }
}

// These services are at the public database's address, whichever database asks, and need a web auth token.

extension DatabaseClient {
    /// The user of the web auth token (`users/caller`).
    public func caller() async throws -> ReceivedUser {
        try await send(ServiceCall("users/caller", under: usersRoot)) { answer in
            // Two forms were seen: a list of one, and the user itself.
            guard answer["users"] != nil else { return try Self.named(answer) }
            guard let user = try answer.objects("users").first else {
                throw UnexpectedShape(expected: "a user in 'users'")
            }
            return try Self.named(user)
        }
    }

    /// The user of the web auth token, by the older service (`users/current`).
    public func currentUser() async throws -> ReceivedUser {
        try await send(ServiceCall("users/current", under: usersRoot)) { try Self.named($0) }
    }

    /// Looks users up by e-mail address, any number of them, by the older service (`users/lookup/email`).
    /// - Returns: a user or an error per address, in their order.
    public func lookupUsers(emailAddresses: [String]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/lookup/email", in: "users", emailAddresses.map { .emailAddress($0) })
    }

    /// Looks users up by record name, any number of them, by the older service (`users/lookup/id`).
    /// - Returns: a user or an error per name, in their order.
    public func lookupUsers(_ userRecordNames: [Name]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/lookup/id", in: "users", userRecordNames.map { .userRecordName($0) })
    }

    /// Looks users up by any key, any number of them (`users/discover`).
    /// - Returns: a user or an error per key, in their order.
    public func discoverUsers(_ keys: [UserKey]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/discover", in: "lookupInfos", keys)
    }

    /// All contacts of the user who have signed in to the app (`users/discover`). CloudKit's own answer was
    /// INTERNAL_ERROR since 2026.
    public func discoverUsers() async throws -> [ReceivedUser] {
        try await send(ServiceCall("users/discover", under: usersRoot)) {
            try $0.objects("users").map { ReceivedUser($0) }
        }
    }

    private static func named(_ object: JSONObject) throws -> ReceivedUser {
        let user = ReceivedUser(object)
        guard user.userRecordName != nil else { throw UnexpectedShape(expected: "a string 'userRecordName'") }
        return user
    }

    private var usersRoot: String { container.database(.public).root }

    private func lookup(_ action: String, in list: Name, _ keys: [UserKey]) async throws -> [Result<
        ReceivedUser, ServerError
    >] {
        try await inParts(keys) { part in
            let call = try ServiceCall(action, under: usersRoot, items: "users") { (writer) throws(CloudKitFailure) in
                try writer.member(list, part) { writer, key in writer.member(key.member.0, key.member.1) }
            }
            return try await send(call) { answer in
                try answer.objects("users", count: part.count).map { $0.result { ReceivedUser($0) } }
            }
        }
    }
}
