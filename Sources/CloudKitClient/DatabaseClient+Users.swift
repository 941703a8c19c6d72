public import JSON
internal import Records

/// A user as CloudKit's answer has it: name, and the address by which the user was looked up or invited. A user shows others no more than permitted, so
/// that every property may be missing.
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
            guard let user = try answer.objects("users").first else { throw UnexpectedShape(expected: "a user in 'users'") }
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

    /// All contacts of the user who have signed in to the app (`users/discover`). CloudKit's own answer was INTERNAL_ERROR since 2026.
    public func discoverUsers() async throws -> [ReceivedUser] {
        try await send(ServiceCall("users/discover", under: usersRoot)) { try $0.objects("users").map { ReceivedUser($0) } }
    }

    private static func named(_ object: JSONObject) throws -> ReceivedUser {
        let user = ReceivedUser(object)
        guard user.userRecordName != nil else { throw UnexpectedShape(expected: "a string 'userRecordName'") }
        return user
    }

    private var usersRoot: String { container.database(.public).root }

    private func lookup(_ action: String, in list: Name, _ keys: [UserKey]) async throws -> [Result<ReceivedUser, ServerError>] {
        try await inParts(keys) { part in
            let call = try ServiceCall(action, under: usersRoot, items: "users") { (writer) throws(CloudKitFailure) in
                try writer.member(list, part) { writer, key in writer.member(key.member.0, key.member.1) }
            }
            return try await send(call) { answer in try answer.objects("users", count: part.count).map { $0.result { ReceivedUser($0) } } }
        }
    }
}
