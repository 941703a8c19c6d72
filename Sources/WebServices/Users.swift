internal import Accounts
internal import JSON
internal import Records

/// `users/caller`: who asks (Apple's reference page "Fetching Current User Identity").
///
/// Clients read either the user itself or a list of users with one element, so both are there.
struct UsersCaller: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let displayName = try call.callers.user(of: call.caller)?.displayName
        writer.object { writer in
            writer.identityMembers(of: call.caller, displayName: displayName)
            writer.name("users")
            writer.array { writer in
                writer.object { $0.identityMembers(of: call.caller, displayName: displayName) }
            }
        }
    }
}

/// `users/current`: the same in its older form (Apple's reference page "Fetching Current User").
struct UsersCurrent: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let displayName = try call.callers.user(of: call.caller)?.displayName
        writer.object { writer in
            writer.member("userRecordName", call.caller.userRecordName)
            if let displayName { writer.member("firstName", displayName) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func identityMembers(of caller: Caller, displayName: String?) {
        member("userRecordName", caller.userRecordName)
        if let displayName {
            name("nameComponents")
            object { $0.member("givenName", displayName) }
        }
        name("lookupInfo")
        object { $0.member("userRecordName", caller.userRecordName) }
    }
}
