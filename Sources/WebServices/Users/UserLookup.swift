internal import Accounts
internal import JSON
internal import Records

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
        throw RecordError.unexpectedInput("Expected '\(object.place)' to have \(keys.map(\.rawValue).joined(separator: " or ")), found neither of them")
    }

    /// - Throws: `RecordError` NOT_FOUND if no user matches. Server-to-server keys and telephone numbers never match: Skylight stores no numbers.
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
            do { return .success(try lookup.identity(in: call.accounts)) } catch let error as RecordError { return .failure(error) }
        }
        call.note?.items(results, areRecords: false) { Name(lookups[$0].value) }
        return results
    }
}
