internal import JSON
internal import Records

/// `users/caller`: who asks (Apple's reference page "Fetching Current User Identity").
///
/// Clients read either the user itself or a list of users with one element, so both are there. A server-to-server key asks this too, and is told
/// its own user record name.
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

/// `users/current`: the same in its older form (Apple's reference page "Fetching Current User").
struct UsersCurrent: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.caller

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let identity = UserIdentity(of: call.caller.userRecordName, in: call.accounts)
        writer.object { $0.plainMembers(of: identity) }
    }
}
