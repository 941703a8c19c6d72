internal import JSON

extension OpenAPIDocument {
    /// The credentials that an operation requires. A server without access control requires none (docs/authentication.md).
    enum Security {
        /// The protocol's credentials: an API token with or without a user's web auth token, a key's signature, or the administrator's credentials.
        case client
        /// The administrator's credentials.
        case administrator
        case anybody

        private static let key: JSONValue = ["keyID": [], "keyDate": [], "keySignature": []]
        private static let administrators: [JSONValue] = [["instanceSecret": []], ["administratorPassword": []]]

        var requirements: JSONValue {
            switch self {
            case .client: .array([[:], ["apiToken": []], ["apiToken": [], "webAuthToken": []], ["webAuthToken": []], Self.key] + Self.administrators)
            case .administrator: .array([[:]] + Self.administrators)
            case .anybody: [[:]]
            }
        }

        /// The error statuses of access control.
        var statuses: [Int] {
            switch self {
            case .client: [401, 403, 421, 429]
            case .administrator: [401, 403, 429]
            case .anybody: [403]
            }
        }

        /// The request headers that identify the client or change its access.
        var headers: [Parameter] {
            switch self {
            case .client: [.user, .device, .client, .rehearse, .access, .webAuthToken]
            case .administrator: [.user, .device]
            case .anybody: []
            }
        }

        static let schemes: JSONObject = members([
            ("apiToken", apiKey("ckAPIToken", in: "query", "An API token of the container and environment: 64 hexadecimal digits")),
            ("webAuthToken", apiKey("ckWebAuthToken", in: "query", "A user's token, from the page that `redirectURL` leads to; percent-encoded")),
            ("keyID", apiKey("X-Apple-CloudKit-Request-KeyID", in: "header", "The ID of a server-to-server key")),
            ("keyDate", apiKey("X-Apple-CloudKit-Request-ISO8601Date", in: "header", "Now, as yyyy-MM-ddTHH:mm:ssZ")),
            (
                "keySignature",
                apiKey(
                    "X-Apple-CloudKit-Request-SignatureV1", in: "header",
                    "ECDSA with P-256 and SHA-256 over `{date}:{base64 of the body's SHA-256}:{path with its query}`, DER in base64 (docs/signing.md)")
            ),
            ("instanceSecret", ["type": "http", "scheme": "bearer", "description": "The secret that the data folder holds while a server has it open"]),
            ("administratorPassword", ["type": "http", "scheme": "basic", "description": "The user admin with the administrator's password"]),
        ])

        private static func apiKey(_ name: String, in place: String, _ description: String) -> JSONValue {
            ["type": "apiKey", "name": .string(name), "in": .string(place), "description": .string(description)]
        }
    }
}
