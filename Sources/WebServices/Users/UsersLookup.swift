internal import JSON
internal import Records

// The older services for user lookup. Their users have no nested objects.

/// `users/lookup/email`: looks users up by e-mail address, ignoring case (Apple's reference page "Fetching Users by Email").
struct UsersLookupEmail: Endpoint {
    static let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try writer.users(call.body.items("users").map { try UserLookup($0, by: [.emailAddress]) }, call)
    }
}

/// `users/lookup/id`: looks users up by record name (Apple's reference page "Fetching Users by Record Name").
struct UsersLookupID: Endpoint {
    static let purpose = EndpointPurpose.people

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try writer.users(call.body.items("users").map { try UserLookup($0, by: [.userRecordName]) }, call)
    }
}

/// `users/lookup/contacts`: returns the contacts of the client's user, which are all users (Apple's reference page "Fetching Contacts").
struct UsersLookupContacts: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.people

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
            writer.name("users")
            writer.array { writer in
                for (lookup, result) in zip(lookups, results) {
                    writer.object { writer in
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
    }
}
