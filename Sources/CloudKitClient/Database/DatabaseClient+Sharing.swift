public import Records

// These services are called at the address of the public database, whatever the client's database is. They require a
// web auth token.

extension DatabaseClient {
    /// Fetches the metadata of any number of shares by their links (`records/resolve`).
    /// - Parameters:
    ///   - shortGUIDs: the identifiers in the links, which are the last parts of their paths.
    ///   - fetchesRoots: true to fetch the root records too.
    /// - Returns: a share or an error for each link, in the order of the links.
    public func resolveShares(_ shortGUIDs: [String], fetchesRoots: Bool = true) async throws -> [Result<
        ReceivedShareMetadata, ServerError
    >] {
        try await follow(shortGUIDs, fetchesRoots, "records/resolve", .reads)
    }

    /// Accepts any number of shares for the user, by their links (`records/accept`). Afterwards their zones are in the
    /// shared database. Accepting a share again has no effect, so the request is repeated if its answer is lost.
    /// - Parameters: as for ``resolveShares(_:fetchesRoots:)``.
    /// - Returns: a share or an error for each link, in the order of the links.
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

/// A participant of a share in an answer of CloudKit.
public struct ReceivedParticipant: Sendable, Hashable {
    /// The participant. An unknown type counts as USER, an unknown status as INVITED, an unknown permission as NONE.
    public var participant: ShareParticipant
    /// The user, with the names that CloudKit reports.
    public var user: ReceivedUser
    /// The JSON of the participant, including members without a property here.
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
            // Only Skylight sends this time.
            accepted: object.integer("acceptedTimestamp").map { Timestamp(milliseconds: $0) })
    }
}

extension ReceivedRecord {
    /// The sharing information of the record; `nil` if it is neither shared nor a share. CloudKit does not report the
    /// root of a share.
    public var sharing: RecordSharing? {
        if shortGUID == nil, share == nil, participants == nil { return nil }
        let top = participants.map { participants in
            let all = participants.map(\.participant)
            // The owner comes first, even if the answer lists another participant first.
            let sorted = all.filter { $0.role == .owner } + all.filter { $0.role != .owner }
            return Share(
                rootName: others.name("rootRecordName"), shortGUID: shortGUID ?? "",
                publicPermission: publicPermission ?? .none, participants: sorted)
        }
        return RecordSharing(shortGUID: shortGUID, shareName: share?.recordName, share: top)
    }
}

/// A share in CloudKit's answer to a link. Members that the answer lacks are `nil`.
public struct ReceivedShareMetadata: Sendable, Hashable {
    /// The identifier in the link.
    public var shortGUID: String
    /// The identifier of the share's container, such as `iCloud.com.example.App`.
    public var containerIdentifier: String?
    /// The user's database that contains the share: private for the owner, shared for others.
    public var databaseScope: DatabaseScope?
    /// The record of the share, with its title and the participants that the user may see.
    public var share: ReceivedRecord
    /// The name of the root record; `nil` if the share is of a whole zone.
    public var rootRecordName: Name?
    /// The root record, if it was requested.
    public var rootRecord: ReceivedRecord?
    /// The owner of the share.
    public var owner: ReceivedUser?
    /// The role of the requesting user in the share.
    public var participantType: ShareParticipant.Role?
    /// Whether the requesting user is invited, has accepted, or has left.
    public var participantStatus: ShareParticipant.Status?
    /// The permission of the requesting user.
    public var participantPermission: SharePermission?
    /// The JSON of the share, including members without a property here.
    public var json: JSONObject

    /// - Throws: ``UnexpectedShape`` if the answer does not contain a share.
    init(_ object: JSONObject, of shortGUID: String) throws {
        guard let record = object.object("share") else { throw UnexpectedShape(expected: "an object 'share'") }
        json = object
        self.shortGUID = object.object("shortGUID")?.string("value") ?? shortGUID
        containerIdentifier = object.string("containerIdentifier")
        databaseScope = object.string("databaseScope").flatMap { DatabaseScope(rawValue: $0.lowercased()) }
        owner = object.object("ownerIdentity").map { ReceivedUser($0) }
        // CloudKit sometimes omits the owner in the zone.
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

/// A user in an answer of CloudKit: the name, and the address by which the user was looked up or invited. Users decide
/// what others see, so every property may be missing.
public struct ReceivedUser: Sendable, Hashable {
    /// The name of the user's record.
    public var userRecordName: Name?
    /// The given name.
    public var givenName: String?
    /// The family name.
    public var familyName: String?
    /// The e-mail address by which the user was looked up or invited.
    public var emailAddress: String?
    /// The phone number by which the user was looked up or invited.
    public var phoneNumber: String?
    /// The JSON of the user.
    public var json: JSONObject

    /// Reads both formats: with the objects `nameComponents` and `lookupInfo`, and the older one without nested
    /// objects.
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

/// A key to look up a user.
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

// These services are called at the address of the public database, whatever the client's database is. They require a
// web auth token.

extension DatabaseClient {
    /// Fetches the user of the web auth token (`users/caller`).
    public func caller() async throws -> ReceivedUser {
        try await send(ServiceCall("users/caller", under: usersRoot)) { answer in
            // The service was seen to answer in two formats: a list with one user, and the user itself.
            guard answer["users"] != nil else { return try Self.named(answer) }
            guard let user = try answer.objects("users").first else {
                throw UnexpectedShape(expected: "a user in 'users'")
            }
            return try Self.named(user)
        }
    }

    /// Fetches the user of the web auth token with the older service (`users/current`).
    public func currentUser() async throws -> ReceivedUser {
        try await send(ServiceCall("users/current", under: usersRoot)) { try Self.named($0) }
    }

    /// Looks up any number of users by e-mail address, with the older service (`users/lookup/email`).
    /// - Returns: a user or an error for each address, in the order of the addresses.
    public func lookupUsers(emailAddresses: [String]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/lookup/email", in: "users", emailAddresses.map { .emailAddress($0) })
    }

    /// Looks up any number of users by record name, with the older service (`users/lookup/id`).
    /// - Returns: a user or an error for each name, in the order of the names.
    public func lookupUsers(_ userRecordNames: [Name]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/lookup/id", in: "users", userRecordNames.map { .userRecordName($0) })
    }

    /// Looks up any number of users by any key (`users/discover`).
    /// - Returns: a user or an error for each key, in the order of the keys.
    public func discoverUsers(_ keys: [UserKey]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await lookup("users/discover", in: "lookupInfos", keys)
    }

    /// Fetches all contacts of the user who use the app (`users/discover`). Since 2026, CloudKit was seen to answer
    /// INTERNAL_ERROR.
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
