internal import HTTPServing
internal import HTTPTypes
internal import JSON

extension OpenAPIDocument {
    /// The parameters that several operations share.
    enum Parameter: String, CaseIterable {
        case container = "Container"
        case environment = "Environment"
        case database = "Database"
        case request = "RequestID"
        case ticket = "Ticket"
        case name = "FileName"
        case user = "User"
        case device = "Device"
        case client = "Client"
        case rehearse = "Rehearse"
        case access = "Access"
        case webAuthToken = "WebAuthToken"

        var reference: JSONValue { ["$ref": .string("#/components/parameters/\(rawValue)")] }

        /// The name of the parameter in a request.
        var name: String {
            switch self {
            case .container: "container"
            case .environment: "environment"
            case .database: "database"
            case .request: "id"
            case .ticket: "ticket"
            case .name: "name"
            case .user: "X-Skylight-User"
            case .device: "X-Skylight-Device"
            case .client: "X-Skylight-Client"
            case .rehearse: "X-Skylight-Rehearse"
            case .access: "X-Skylight-Access"
            case .webAuthToken: HTTPField.Name.cloudKitWebAuthToken.rawName
            }
        }

        private var isHeader: Bool { name.hasPrefix("X-") }

        private var schema: JSONSchema {
            switch self {
            case .container: .container.example("iCloud.com.example.Chat")
            case .environment: .words(["development", "production"])
            case .database: .words(["public", "private", "shared"])
            case .request, .name, .user, .client, .rehearse, .webAuthToken: .string
            case .access: .words(["owner", "anonymous"])
            case .ticket: .text(matching: "^[^/]+$")
            case .device: .text(matching: "^.*$", limit: 255)
            }
        }

        private var description: String {
            switch self {
            case .container: "The container's identifier. A container is made by the first save"
            case .environment: "Each has its own data and its own schema; that of production changes by deployment alone"
            case .database: "`public` is everybody's, `private` the caller's, `shared` what others share with the caller"
            case .request: "The id of a request, as X-Skylight-Request has it, and the `uuid` of an error"
            case .ticket: "What the server gave out"
            case .name: "What the file is to be called"
            case .user: "Who speaks, a handle or a user record name: on a server that asks nobody for credentials, and for an administrator. Else the developer"
            case .device: "The device that saved records name"
            case .client: "What the client is to be called on the page Clients"
            case .access: "`owner` to be held to no roles, `anonymous` to be answered as an app without a user. For who needs no credentials, and for the administrator"
            case .webAuthToken: "The same as `ckWebAuthToken`, where that should stand in no address"
            case .rehearse: "Rehearsals for this request alone, with commas between them; `none` for none (docs/rehearsals.md)"
            }
        }

        var json: JSONValue {
            var json = JSONObject()
            json["name"] = .string(name)
            json["in"] = isHeader ? "header" : "path"
            if !isHeader { json["required"] = true }
            json["description"] = .string(description)
            json["schema"] = schema.value
            return .object(json)
        }
    }
}
