import Accounts
import Crypto
import Foundation
import HTTPServing
import Records
import RecordStore
import Testing

@testable import WebServices

/// A server with credentials of every kind: valid ones, ended ones, and those of other containers and environments.
struct CredentialStage: Sendable {
    static let container = "iCloud.com.example.Test"
    static let password = "correct horse battery"
    static let listedOrigin = "https://app.example.com"

    /// The credentials of a request.
    enum Brought: String, CaseIterable, Sendable {
        case nothing
        case apiToken, restrictedTokenFromListedPage
        case unknownToken, revokedToken, tokenOfOtherContainer, tokenOfOtherEnvironment, restrictedTokenWithoutOrigin,
            restrictedTokenFromOtherPage
        case session, sessionWithToken, sessionUnderToken, sessionInHeader, sessionUnderOldName
        case sessionWithWrongPassword
        case sessionWithoutItsToken, sessionWithUnknownToken
        case unknownSession, expiredSession, revokedSession, sessionElsewhere
        case serverKey
        case wrongSignature, oldSignature, unknownKey, revokedKey, keyElsewhere, halfASignature
        case mixed, mixedWithSession
        case password, instanceSecret, otherAuthorization
        case ownerAlone, ownerWithPassword, ownerWithInstanceSecret, ownerWithToken
        case anonymousAlone, anonymousWithPassword
    }

    /// A request to send.
    struct Sent: Sendable {
        var target: String
        var headers: [String]
    }

    let server: TestServer
    let apiToken: (token: APIToken, secret: String)
    let restricted: (token: APIToken, secret: String)
    let revoked: String
    let otherContainer: String
    let otherEnvironment: String
    let anna: User
    let session: (session: WebAuthSession, token: String)
    let underToken: (session: WebAuthSession, token: String)
    let expired: String
    let revokedSession: String
    let elsewhere: String
    let signer: Signer
    let key: ServerKey
    let revokedSigner: Signer
    let otherSigner: Signer

    init(_ server: TestServer) async throws {
        self.server = server
        let accounts = server.accounts
        let container = try #require(ContainerID(Self.container))
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        func token(
            _ name: String, _ container: ContainerID, _ environment: Records.Environment, _ origins: [String] = []
        ) async throws -> (
            token: APIToken, secret: String
        ) {
            try await accounts.makeAPIToken(
                named: name, container: container, environment: environment, allowedOrigins: origins, callback: nil)
        }
        apiToken = try await token("plain", container, .development)
        restricted = try await token("restricted", container, .development, [Self.listedOrigin])
        let gone = try await token("revoked", container, .development)
        _ = try await accounts.revokeAPIToken(gone.token.id)
        revoked = gone.secret
        otherContainer = try await token("other container", other, .development).secret
        otherEnvironment = try await token("other environment", container, .production).secret
        anna = try await accounts.makeUser(displayName: "Anna Arendt", emailAddress: "anna@example.com")
        let user = anna.userRecordName
        func signIn(
            _ environment: Records.Environment = .development, under token: String? = nil, at now: Date = Date()
        ) async throws -> (
            session: WebAuthSession, token: String
        ) {
            try await accounts.signIn(
                user, with: SignInRequest(container: container, environment: environment, apiTokenID: token),
                keepSignedIn: false, now: now)
        }
        session = try await signIn()
        underToken = try await signIn(under: apiToken.token.id)
        expired = try await signIn(at: Date(timeIntervalSinceNow: -31 * 60)).token
        let ended = try await signIn()
        _ = try await accounts.revokeWebAuthSession(ended.session.id)
        revokedSession = ended.token
        elsewhere = try await signIn(.production).token
        func register(_ environment: Records.Environment = .development) async throws -> (Signer, ServerKey) {
            var signer = Signer()
            let key = try await accounts.registerServerKey(
                pem: signer.publicKeyPEM, named: "test", container: container, environment: environment)
            signer.keyID = key.keyID
            return (signer, key)
        }
        (signer, key) = try await register()
        let old = try await register()
        _ = try await accounts.revokeServerKey(old.1.keyID)
        revokedSigner = old.0
        otherSigner = try await register(.production).0
        try await accounts.setAdministratorPassword(Self.password)
    }

    /// A request with these credentials.
    func sent(_ brought: Brought, _ path: String, body: String) throws -> Sent {
        func query(_ parameters: [(String, String)]) -> String {
            path + "?" + parameters.map { "\($0)=\(PercentEncoding.encoded($1))" }.joined(separator: "&")
        }
        func with(_ parameters: (String, String)..., headers: [String] = []) -> Sent {
            Sent(target: query(parameters), headers: headers)
        }
        func alone(_ headers: [String]) -> Sent { Sent(target: path, headers: headers) }
        let basic = "Authorization: Basic " + Data("admin:\(Self.password)".utf8).base64EncodedString()
        let bearer = "Authorization: Bearer \(TestServer.instanceSecret)"
        let owner = "X-Skylight-Access: owner"
        switch brought {
        case .nothing: return alone([])
        case .apiToken: return with(("ckAPIToken", apiToken.secret))
        case .restrictedTokenFromListedPage:
            return with(("ckAPIToken", restricted.secret), headers: ["Origin: \(Self.listedOrigin)"])
        case .unknownToken: return with(("ckAPIToken", String(repeating: "0", count: 64)))
        case .revokedToken: return with(("ckAPIToken", revoked))
        case .tokenOfOtherContainer: return with(("ckAPIToken", otherContainer))
        case .tokenOfOtherEnvironment: return with(("ckAPIToken", otherEnvironment))
        case .restrictedTokenWithoutOrigin: return with(("ckAPIToken", restricted.secret))
        case .restrictedTokenFromOtherPage:
            return with(("ckAPIToken", restricted.secret), headers: ["Origin: http://localhost:3000"])
        case .session: return with(("ckWebAuthToken", session.token))
        case .sessionWithToken: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", session.token))
        case .sessionUnderToken: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", underToken.token))
        case .sessionInHeader:
            return with(("ckAPIToken", apiToken.secret), headers: ["X-Apple-CloudKit-Web-Auth-Token: \(session.token)"])
        case .sessionUnderOldName: return with(("ckAPIToken", apiToken.secret), ("ckSession", session.token))
        // This password is not checked. Otherwise the sixth one would be refused.
        case .sessionWithWrongPassword:
            return with(
                ("ckWebAuthToken", session.token),
                headers: ["Authorization: Basic " + Data("admin:guess".utf8).base64EncodedString()])
        case .sessionWithoutItsToken: return with(("ckWebAuthToken", underToken.token))
        case .sessionWithUnknownToken:
            return with(("ckAPIToken", String(repeating: "0", count: 64)), ("ckWebAuthToken", session.token))
        case .unknownSession: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", "bm90IGEgdG9rZW4="))
        case .expiredSession: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", expired))
        case .revokedSession: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", revokedSession))
        case .sessionElsewhere: return with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", elsewhere))
        case .serverKey: return alone(try signer.headers(path, body: body))
        case .wrongSignature: return alone(try signer.headers(path.replacing("/1/", with: "/"), body: body))
        case .oldSignature: return alone(try signer.headers(path, body: body, at: Date(timeIntervalSinceNow: -11 * 60)))
        case .unknownKey:
            var unknown = signer
            unknown.keyID = String(repeating: "0", count: 64)
            return alone(try unknown.headers(path, body: body))
        case .revokedKey: return alone(try revokedSigner.headers(path, body: body))
        case .keyElsewhere: return alone(try otherSigner.headers(path, body: body))
        case .halfASignature: return alone(Array(try signer.headers(path, body: body).prefix(2)))
        case .mixed:
            let sent = with(("ckAPIToken", apiToken.secret))
            return Sent(target: sent.target, headers: try signer.headers(sent.target, body: body))
        case .mixedWithSession:
            let sent = with(("ckAPIToken", apiToken.secret), ("ckWebAuthToken", session.token))
            return Sent(target: sent.target, headers: try signer.headers(sent.target, body: body))
        case .password: return alone([basic])
        case .instanceSecret: return alone([bearer])
        case .otherAuthorization: return alone(["Authorization: Basic " + Data("ben:guess".utf8).base64EncodedString()])
        case .ownerAlone: return alone([owner])
        case .ownerWithPassword: return alone([owner, basic])
        case .ownerWithInstanceSecret: return alone([owner, bearer, "X-Skylight-User: \(anna.handle)"])
        case .anonymousAlone: return alone(["X-Skylight-Access: anonymous"])
        case .anonymousWithPassword: return alone(["X-Skylight-Access: anonymous", basic])
        case .ownerWithToken: return with(("ckAPIToken", apiToken.secret), headers: [owner])
        }
    }

    func send(_ method: String, _ sent: Sent, _ body: String) async throws -> RawResponse {
        let request = NotedClient.head(method, sent.target, sent.headers, length: body.utf8.count) + body
        return try #require(try await server.client.exchange(request).first, "no answer to \(method) \(sent.target)")
    }
}

extension CredentialStage {
    /// Adds a type that anyone may read and change, so that access depends on credentials alone.
    func makeOpenType() async throws {
        let address = DatabaseAddress(
            container: ScenarioRunner.address.container, environment: .development, scope: .public)
        let database = try await server.engine.database(address, as: ScenarioRunner.developer)
        let fields = [Name("file"): FieldDefinition(type: .asset)]
        _ = try await database.require(.editSchema).edit([
            .addType(RecordType(name: "Open", fields: fields, systemIndexes: [.recordID: [.queryable]])),
            .setGrants(
                [
                    Grant(role: "_world", permissions: [.read, .create, .write]),
                    Grant(role: "_icloud", permissions: [.read, .create, .write]),
                ], of: "Open"),
        ])
    }
}

/// Signs requests like clients with a server-to-server key, without the server's code.
struct Signer: Sendable {
    let key = P256.Signing.PrivateKey()
    var keyID = ""

    var publicKeyPEM: String { key.publicKey.pemRepresentation }

    /// The three headers.
    /// - Parameters:
    ///   - target: path and query exactly as in the request.
    ///   - date: the date of the signature.
    func headers(_ target: String, body: String = "", at date: Date = Date()) throws -> [String] {
        try headers(target, bytes: Array(body.utf8), at: date)
    }

    func headers(_ target: String, bytes: [UInt8], at date: Date = Date()) throws -> [String] {
        let formatter = ISO8601DateFormatter()
        let time = formatter.string(from: date)
        let hash = Data(SHA256.hash(data: bytes)).base64EncodedString()
        let signature = try key.signature(for: Data("\(time):\(hash):\(target)".utf8)).derRepresentation
            .base64EncodedString()
        return [
            "X-Apple-CloudKit-Request-KeyID: \(keyID)", "X-Apple-CloudKit-Request-ISO8601Date: \(time)",
            "X-Apple-CloudKit-Request-SignatureV1: \(signature)",
        ]
    }
}
