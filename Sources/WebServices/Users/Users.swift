internal import JSON
internal import Records

/// `users/caller`: returns the client's user (Apple's reference page "Fetching Current User Identity").
///
/// Some clients read the user itself, others a list with one user, so the answer
/// has both. For a server-to-server key it has the key's user record name.
struct UsersCaller: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.caller

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
    static let allowsGET = true
    static let purpose = EndpointPurpose.caller

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let identity = UserIdentity(of: call.caller.userRecordName, in: call.accounts)
        writer.object { $0.plainMembers(of: identity) }
    }
}
