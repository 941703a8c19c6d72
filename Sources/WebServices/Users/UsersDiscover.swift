internal import JSON
internal import Records

/// `users/discover`: GET returns all users, because Skylight treats all users as each other's contacts. POST looks users up,
/// in the order of the request (Apple's reference pages "Discovering All User Identities" and "Discovering User Identities").
struct UsersDiscover: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.people

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
            writer.name("users")
            writer.array { writer in
                for (lookup, result) in zip(lookups, results) {
                    writer.object { writer in
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
    }
}
