internal import HTTPServing
internal import HTTPTypes
internal import Records

/// Maps paths to services.
enum EndpointTable {
    static let database: [String: any Endpoint] = [
        "records/query": RecordsQuery(),
        "records/lookup": RecordsLookup(),
        "records/modify": RecordsModify(),
        "records/changes": RecordsChanges(),
        "records/resolve": RecordsResolve(),
        "records/accept": RecordsAccept(),
        "zones/list": ZonesList(),
        "zones/lookup": ZonesLookup(),
        "zones/modify": ZonesModify(),
        "zones/changes": ZonesChanges(),
        "changes/database": DatabaseChanges(),
        "changes/zone": ZoneChanges(),
        "assets/upload": AssetsUpload(),
        "assets/rereference": AssetsRereference(),
        "subscriptions/list": SubscriptionsList(),
        "subscriptions/lookup": SubscriptionsLookup(),
        "subscriptions/modify": SubscriptionsModify(),
        "users/caller": UsersCaller(),
        "users/current": UsersCurrent(),
        "users/discover": UsersDiscover(),
        "users/lookup/contacts": UsersLookupContacts(),
        "users/lookup/email": UsersLookupEmail(),
        "users/lookup/id": UsersLookupID(),
    ]

    /// The services under `/device/1`, which have no database.
    static let device: [String: any Endpoint] = [
        "tokens/create": TokensCreate(), "tokens/register": TokensRegister(),
    ]

    /// The paths of all services of a container, those most similar to the given path first. They are used to guess for
    /// which path a wrong signature was created.
    static func targets(near path: WebServicePath) -> [String] {
        let environments = [path.environment] + Environment.allCases.filter { $0 != path.environment }
        let scopes =
            DatabaseScope.allCases.filter { path.root == .database($0) }
            + DatabaseScope.allCases.filter { path.root != .database($0) }
        let actions = [path.action] + database.keys.filter { $0 != path.action }.sorted()
        return environments.flatMap { environment in
            device.keys.filter { $0 == path.action }.map { "/device/1/\(path.container)/\(environment.rawValue)/\($0)" }
                + scopes.flatMap { scope in
                    actions.map { "/database/1/\(path.container)/\(environment.rawValue)/\(scope.rawValue)/\($0)" }
                }
        }
    }

    /// True if CloudKit has a service of this name.
    static func knows(_ action: String) -> Bool { database[action] != nil || device[action] != nil }

    /// - Throws: `RecordError` NOT_FOUND if CloudKit has no such service; ``Refusal`` 405 for a wrong method.
    static func endpoint(at path: WebServicePath, method: HTTPRequest.Method) throws -> any Endpoint {
        guard let endpoint = path.root == .device ? device[path.action] : database[path.action] else {
            // The live service answers 405 too, because its documented path for these two services does not work.
            if path.root != .device, device[path.action] != nil {
                throw notAllowed(
                    method, allowed: "OPTIONS",
                    hint: "'\(path.action)' is at /device/1/{container}/{environment}/\(path.action)")
            }
            throw RecordError(.notFound, "There is no service '\(path.action)'")
        }
        guard endpoint.methods.contains(method) else {
            throw wrongMethod(method, of: path.action, allowed: endpoint.methods.map(\.rawValue))
        }
        return endpoint
    }

    static func wrongMethod(_ method: HTTPRequest.Method, of action: String, allowed: [String]) -> Refusal {
        let list = allowed.joined(separator: ", ")
        let isRead = allowed.contains("GET")
        return notAllowed(
            method, allowed: "\(list)\(isRead ? ", HEAD" : ""), OPTIONS", hint: "'\(action)' accepts \(list)")
    }

    private static func notAllowed(_ method: HTTPRequest.Method, allowed: String, hint: String) -> Refusal {
        Refusal(
            .methodNotAllowed, .badRequest, "Method \(method.rawValue) is not allowed: \(hint)",
            headers: [.allow: allowed])
    }
}
