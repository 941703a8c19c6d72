import Foundation
public import RemoteRecords

/// The connection of an example, as these variables of the environment say:
///
/// - `CLOUDKIT_ADDRESS`: that of a Skylight, such as `http://127.0.0.1:8080`; iCloud's without it.
/// - `CLOUDKIT_CONTAINER`: the container, in development.
/// - `CLOUDKIT_API_TOKEN` and `CLOUDKIT_USER_TOKEN_FILE`: the app's token, and the file with the user's web auth token.
///   The file is written when the server replaces the token. A Skylight on this machine needs neither.
public enum Connection {
    public static func client() throws -> ContainerClient {
        let environment = ProcessInfo.processInfo.environment
        guard let container = ContainerID(environment["CLOUDKIT_CONTAINER"] ?? "iCloud.com.example.Examples") else {
            throw Unusable(variable: "CLOUDKIT_CONTAINER")
        }
        let apiToken = environment["CLOUDKIT_API_TOKEN"] ?? String(repeating: "0", count: 64)
        var credentials = ContainerCredentials.apiToken(apiToken)
        if let path = environment["CLOUDKIT_USER_TOKEN_FILE"] {
            let file = URL(filePath: path)
            guard let token = WebAuthToken(try String(contentsOf: file, encoding: .utf8)) else {
                throw Unusable(variable: "CLOUDKIT_USER_TOKEN_FILE")
            }
            let user = WebAuthCredential(token) { next in
                // Should this fail, the user signs in anew.
                try? Data(next.text.utf8).write(to: file, options: .atomic)
            }
            credentials = .webAuth(apiToken: apiToken, user: user)
        }
        var configuration = ClientConfiguration(
            address: environment["CLOUDKIT_ADDRESS"] ?? ClientConfiguration.cloudKit)
        // Somebody waits at the terminal.
        configuration.patience = .seconds(5)
        return try ContainerClient(
            container: container, environment: .development, credentials: credentials, configuration: configuration)
    }

    /// A variable of the environment that can't be used.
    public struct Unusable: Error {
        public let variable: String
    }

    /// Prints how a program is used, and ends it.
    public static func explain(_ usage: String) -> Never {
        FileHandle.standardError.write(Data("usage: \(usage)\n".utf8))
        exit(64)
    }
}
