internal import Accounts
internal import Records

// MARK: - The caller

/// `users/caller`: returns the client's user (Apple's reference page "Fetching Current User Identity").
///
/// Some clients read the user itself, others a list with one user, so the answer
/// has both. For a server-to-server key it has the key's user record name.
struct UsersCaller: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.caller

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let identity = UserIdentity(of: call.caller.userRecordName, in: call.accounts)
        writer.object { writer in
            writer.members(of: identity)
            writer.name("users")
            writer.array { writer in
                writer.object { $0.members(of: identity) }
            }
        }
    }
}

/// `users/current`: the older format of `users/caller` (Apple's reference page "Fetching Current User").
struct UsersCurrent: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.caller

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let identity = UserIdentity(of: call.caller.userRecordName, in: call.accounts)
        writer.object { $0.plainMembers(of: identity) }
    }
}

// MARK: - Contacts

/// `users/discover`: GET returns all users, because Skylight treats all users as each other's contacts. POST looks
/// users up, in the order of the request (Apple's reference pages "Discovering All User Identities" and "Discovering
/// User Identities").
struct UsersDiscover: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        if call.isGET {
            let users = UserIdentity.everybody(in: call.accounts)
            return writer.object { writer in
                writer.name("users")
                writer.array { writer in
                    for user in users { writer.object { $0.members(of: user) } }
                }
            }
        }
        let lookups = try call.body.items("lookupInfos").map { try UserLookup($0) }
        let results = try UserLookup.results(lookups, call)
        writer.object { writer in
            writer.member("users", objects: zip(lookups, results)) { writer, item in
                let (lookup, result) = item
                switch result {
                case .success(let identity): writer.members(of: identity)
                case .failure(let error):
                    writer.name("lookupInfo")
                    writer.object { $0.member(Name(lookup.key.rawValue), lookup.value) }
                    writer.members(of: error)
                }
            }
        }
    }
}

// MARK: - Lookup

// The older services for user lookup. Their users have no nested objects.

/// `users/lookup/email`: looks users up by e-mail address, ignoring case (Apple's reference page "Fetching Users by
/// Email").
struct UsersLookupEmail: Endpoint {
    let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try writer.users(call.body.items("users").map { try UserLookup($0, by: [.emailAddress]) }, call)
    }
}

/// `users/lookup/id`: looks users up by record name (Apple's reference page "Fetching Users by Record Name").
struct UsersLookupID: Endpoint {
    let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try writer.users(call.body.items("users").map { try UserLookup($0, by: [.userRecordName]) }, call)
    }
}

/// `users/lookup/contacts`: returns the contacts of the client's user, which are all users (Apple's reference page
/// "Fetching Contacts").
struct UsersLookupContacts: Endpoint {
    let allowsGET = true
    let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let users = UserIdentity.everybody(in: call.accounts)
        writer.object { writer in
            writer.name("users")
            writer.array { writer in
                for user in users { writer.object { $0.plainMembers(of: user) } }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func users(_ lookups: [UserLookup], _ call: EndpointCall) throws {
        let results = try UserLookup.results(lookups, call)
        object { writer in
            writer.member("users", objects: zip(lookups, results)) { writer, item in
                let (lookup, result) = item
                switch result {
                case .success(let identity): writer.plainMembers(of: identity)
                case .failure(let error):
                    writer.member(Name(lookup.key.rawValue), lookup.value)
                    writer.members(of: error)
                }
            }
        }
    }
}

/// A lookup of one user by one key.
struct UserLookup: Sendable {
    /// The lookup keys, with their protocol names.
    enum Key: String, CaseIterable {
        case emailAddress, phoneNumber, userRecordName
    }

    static let notFound = RecordError(known: .userNotFound)

    let key: Key
    let value: String

    /// - Throws: `RecordError` BAD_REQUEST if the object has none of the keys.
    init(_ object: RequestObject, by keys: [Key] = Key.allCases) throws {
        for key in keys {
            guard let value = try object.string(Name(key.rawValue)) else { continue }
            (self.key, self.value) = (key, value)
            return
        }
        throw RecordError.unexpectedInput(
            "Expected '\(object.place)' to have \(keys.map(\.rawValue).joined(separator: " or ")), found neither of them"
        )
    }

    /// - Throws: `RecordError` NOT_FOUND if no user matches. Server-to-server keys and telephone numbers never match:
    ///   Skylight stores no numbers.
    func identity(in accounts: Accounts) throws -> UserIdentity {
        let user: User? =
            switch key {
            case .emailAddress: accounts.user(emailAddress: value)
            case .phoneNumber: nil
            case .userRecordName: accounts.user(recordName: Name(value))
            }
        guard let user, !user.isServerKey else { throw Self.notFound }
        return UserIdentity(user)
    }

    /// Runs all lookups. Those without a match get an error.
    static func results(_ lookups: [UserLookup], _ call: EndpointCall) throws -> [Result<UserIdentity, RecordError>] {
        let results = try lookups.map { lookup -> Result<UserIdentity, RecordError> in
            do { return .success(try lookup.identity(in: call.accounts)) } catch let error as RecordError {
                return .failure(error)
            }
        }
        call.note?.items(results, areRecords: false) { Name(lookups[$0].value) }
        return results
    }
}

// MARK: - Identities

/// The facts that users learn about each other: the user record name and the known personal
/// data (Apple's reference page "Types and Dictionaries", User Identity Dictionary).
struct UserIdentity: Sendable {
    let userRecordName: Name
    /// The user; `nil` if there is no person, as for a server-to-server key.
    private let user: User?

    init(_ user: User) {
        userRecordName = user.userRecordName
        self.user = user
    }

    init(of userRecordName: Name, in accounts: Accounts) {
        self.userRecordName = userRecordName
        let user = accounts.user(recordName: userRecordName)
        self.user = user?.isServerKey == true ? nil : user
    }

    /// All users, the developer first, without those of server-to-server keys.
    static func everybody(in accounts: Accounts) -> [UserIdentity] {
        accounts.users().filter { !$0.isServerKey }.map { UserIdentity($0) }
    }

    var givenName: String? { user?.givenName }
    var familyName: String? { user?.familyName }
    var emailAddress: String? { user?.emailAddress }
}

extension JSONWriter {
    mutating func members(of identity: UserIdentity) {
        member("userRecordName", identity.userRecordName)
        if let givenName = identity.givenName {
            name("nameComponents")
            object { writer in
                writer.member("givenName", givenName)
                if let familyName = identity.familyName { writer.member("familyName", familyName) }
            }
        }
        name("lookupInfo")
        object { writer in
            writer.member("userRecordName", identity.userRecordName)
            if let emailAddress = identity.emailAddress { writer.member("emailAddress", emailAddress) }
        }
    }

    /// The members of the older format, without nested objects.
    mutating func plainMembers(of identity: UserIdentity) {
        member("userRecordName", identity.userRecordName)
        if let givenName = identity.givenName { member("firstName", givenName) }
        if let familyName = identity.familyName { member("lastName", familyName) }
        if let emailAddress = identity.emailAddress { member("emailAddress", emailAddress) }
    }
}
