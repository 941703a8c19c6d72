internal import Accounts
internal import HTTPTypes
internal import JSON
internal import Records

/// `accounts/connections`: lists the connections to containers in iCloud, without their credentials.
enum ConnectionsList: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { writer in
            writer.name("connections")
            writer.array { writer in
                for connection in call.accounts.connections() { writer.value(connection) }
            }
        }
    }
}

/// `accounts/connections/make`: saves a connection with its credentials.
enum ConnectionMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let credentials: ContainerConnection.Credentials =
            try call.body.string("keyID").map { .serverKey(keyID: $0, pem: try call.text("privateKey")) }
            ?? .webAuth(apiToken: try call.text("apiToken"), webAuthToken: try call.text("webAuthToken"))
        let connection = ContainerConnection(
            container: place.container, environment: place.environment, address: try call.body.string("address"), origin: try call.body.string("origin"),
            credentials: credentials, userRecordName: try call.body.name("userRecordName"), isWritable: try call.body.bool("writable") ?? false)
        try await call.accounts.connect(connection)
        writer.object { writer in
            writer.name("connection")
            writer.value(connection)
        }
    }
}

/// `accounts/connections/remove`: forgets a connection and its credentials.
enum ConnectionRemoval: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let connection = try await call.accounts.disconnect(place.container, place.environment)
        writer.object { writer in
            writer.name("connection")
            writer.value(connection)
        }
    }
}
