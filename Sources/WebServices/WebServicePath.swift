internal import Records
internal import Text

/// The parsed path of a web service.
struct WebServicePath: Sendable {
    /// The first part of the path: a database under `/database/1` and `/skylight/1`, a whole environment, or `/device/1`.
    enum Root: Sendable, Hashable {
        case database(DatabaseScope)
        case environment
        case device
    }

    let root: Root
    let container: ContainerID
    let environment: Environment
    /// The service, such as `records/query` or `tokens/create`.
    let action: String

    /// - Throws: `RecordError` NOT_FOUND if the path cannot be a service, BAD_REQUEST for an invalid part.
    init(_ path: Substring) throws {
        let parts = try path.utf8.split(separator: UInt8(ascii: "/")).map { part in
            guard let decoded = PercentEncoding.decoded(Substring(part)) else {
                throw RecordError(.badRequest, "Malformed path: '\(Substring(part))' is not percent-encoded UTF-8")
            }
            return decoded[...]
        }
        try self.init(parts)
    }

    /// - Parameters:
    ///   - parts: the percent-decoded parts of the path.
    ///   - action: the service if it is known, so that it is not put together again.
    /// - Throws: as ``init(_:)``.
    init(_ parts: [Substring], action: String? = nil) throws {
        let isDevice = parts.first == "device"
        let isSkylight = parts.first == "skylight"
        let service = parts.count == 6 ? "\(parts[4])/\(parts[5])" : ""
        // Services of devices are under /device. Under /database the endpoint table refuses them, and names the right path.
        let isOfEnvironment = !isDevice && (isSkylight ? SkylightServices.ofEnvironments[service] != nil : EndpointTable.device[service] != nil)
        guard parts.count >= 2, parts[1] == "1", isDevice ? parts.count == 6 : parts.count >= (isSkylight || isOfEnvironment ? 6 : 7) else {
            throw RecordError(
                .notFound,
                "No service at this path; expected /\(isSkylight ? "skylight" : "database")/1/{container}/{environment}/{public|private|shared}/{entity}/{action}")
        }
        guard let container = ContainerID(String(parts[2])) else {
            throw RecordError(
                .badRequest, "Invalid container '\(parts[2])': expected iCloud. and letters, digits, dots, hyphens and underscores, up to \(ContainerID.limit) in all")
        }
        guard let environment = Environment(rawValue: String(parts[3])) else {
            throw RecordError(.badRequest, "Invalid environment '\(parts[3])', expected development or production")
        }
        if isDevice {
            root = .device
        } else if isOfEnvironment {
            root = .environment
        } else {
            guard let scope = DatabaseScope(rawValue: String(parts[4])) else {
                throw RecordError(.badRequest, "Invalid database '\(parts[4])', expected public, private or shared")
            }
            root = .database(scope)
        }
        self.container = container
        self.environment = environment
        // The action may have several parts, as in `users/lookup/email`.
        self.action = action ?? parts.dropFirst(isDevice || root == .environment ? 4 : 5).joined(separator: "/")
    }
}
