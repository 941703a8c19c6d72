import Accounts
import Foundation
import HTTPServing
import Records
import RequestLog
import Testing

@testable import WebServices

/// Every cell of the table in docs/authentication.md: credentials × service × access mode.
@Suite("Access to each service")
struct AccessTableTests {
    /// The expected result of a request.
    private enum Outcome: Equatable {
        /// Success, with the expected user; `nil` for none.
        case answered(as: Speaker?)
        /// 401 AUTHENTICATION_FAILED, `no auth method found`
        case failed
        /// 401 AUTHENTICATION_FAILED, with Skylight's own reason
        case administratorOnly
        /// 421 AUTHENTICATION_REQUIRED with a redirectURL
        case signIn
        /// 403 ACCESS_DENIED, `private db access disabled for this account`
        case privateDenied
        /// 403 ACCESS_DENIED
        case peopleDenied
        /// 400 BAD_REQUEST
        case twoStyles
    }

    private enum Speaker { case anna, key, developer }

    /// The services, by the columns of the table.
    private static let services: [(column: Int, services: [(method: String, path: String, body: String)])] = [
        (
            0,
            [
                ("POST", "public/records/lookup", #"{"records":[{"recordName":"a"}]}"#),
                ("POST", "public/records/query", #"{"query":{"recordType":"Open"}}"#),
            ]
        ),
        (
            1,
            [
                (
                    "POST", "public/records/modify",
                    #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Open","recordName":"a"}}]}"#
                ),
                ("POST", "public/assets/upload", #"{"tokens":[{"recordType":"Open","fieldName":"file"}]}"#),
                ("POST", "public/assets/rereference", #"{"assets":[{"recordName":"a","fieldName":"file"}]}"#),
                ("POST", "public/zones/modify", #"{"operations":[]}"#),
                ("GET", "public/zones/list", ""),
                ("POST", "public/zones/lookup", #"{"zones":[{"zoneName":"_defaultZone"}]}"#),
            ]
        ),
        (
            2,
            [
                ("POST", "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#),
                (
                    "POST", "private/records/modify",
                    #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Open","recordName":"a"}}]}"#
                ),
                ("POST", "private/assets/upload", #"{"tokens":[{"recordType":"Open","fieldName":"file"}]}"#),
                ("GET", "private/zones/list", ""),
                ("POST", "private/changes/database", "{}"),
                ("GET", "/skylight/1/\(CredentialStage.container)/development/private/keyvalues/changes", ""),
                (
                    "POST", "/skylight/1/\(CredentialStage.container)/development/private/keyvalues/modify",
                    #"{"operations":[{"operationType":"remove","key":"a"}]}"#
                ),
                ("POST", "shared/changes/database", "{}"),
                ("GET", "shared/zones/list", ""),
                (
                    "POST", "shared/records/lookup",
                    #"{"records":[{"recordName":"a"}],"zoneID":{"zoneName":"Z","ownerRecordName":"_x"}}"#
                ),
            ]
        ),
        (
            3,
            [
                ("GET", "public/users/caller", ""), ("POST", "private/users/caller", "{}"),
                ("GET", "public/users/current", ""),
            ]
        ),
        (
            4,
            [
                ("GET", "public/users/discover", ""),
                ("POST", "public/users/discover", #"{"lookupInfos":[{"emailAddress":"anna@example.com"}]}"#),
                ("POST", "public/users/lookup/email", #"{"users":[{"emailAddress":"anna@example.com"}]}"#),
                ("POST", "public/users/lookup/id", #"{"users":[{"userRecordName":"_x"}]}"#),
                ("GET", "public/users/lookup/contacts", ""),
            ]
        ),
    ]

    private static let anyProblem = "any"
    private static let nobody: [Outcome] = [.failed, .failed, .signIn, .signIn, .signIn]
    private static let app: [Outcome] = [.answered(as: nil), .signIn, .signIn, .signIn, .signIn]
    private static let key: [Outcome] = [
        .answered(as: .key), .answered(as: .key), .privateDenied, .answered(as: .key), .peopleDenied,
    ]

    private static func all(_ outcome: Outcome) -> [Outcome] { Array(repeating: outcome, count: 5) }

    private static func required(_ brought: CredentialStage.Brought) -> (
        outcomes: [Outcome], way: Authentication.Way, problem: String?
    ) {
        switch brought {
        case .nothing: (nobody, .nothing, nil)
        case .apiToken, .restrictedTokenFromListedPage: (app, .apiToken, nil)
        case .unknownToken: (all(.failed), .apiToken, "unknownToken")
        case .revokedToken: (all(.failed), .apiToken, "revokedToken")
        case .tokenOfOtherContainer, .tokenOfOtherEnvironment: (all(.failed), .apiToken, "otherPlace")
        case .restrictedTokenWithoutOrigin, .restrictedTokenFromOtherPage: (all(.failed), .apiToken, "foreignOrigin")
        case .session, .sessionWithToken, .sessionUnderToken, .sessionInHeader, .sessionUnderOldName,
            .sessionWithWrongPassword:
            (all(.answered(as: .anna)), .webAuth, nil)
        case .sessionWithoutItsToken: (all(.failed), .webAuth, "missingToken")
        case .sessionWithUnknownToken: (all(.failed), .apiToken, "unknownToken")
        case .unknownSession: (all(.signIn), .webAuth, "unknownSession")
        case .expiredSession: (all(.signIn), .webAuth, "expiredSession")
        case .revokedSession: (all(.signIn), .webAuth, "revokedSession")
        case .sessionElsewhere: (all(.signIn), .webAuth, "otherPlace")
        case .serverKey: (key, .serverKey, nil)
        case .oldSignature: (all(.failed), .serverKey, "clock")
        // AccountsTests check the exact problem.
        case .wrongSignature: (all(.failed), .serverKey, Self.anyProblem)
        case .unknownKey: (all(.failed), .serverKey, "unknownKey")
        case .revokedKey: (all(.failed), .serverKey, "revokedKey")
        case .keyElsewhere: (all(.failed), .serverKey, "otherPlace")
        case .halfASignature: (all(.failed), .serverKey, "incomplete")
        case .mixed, .mixedWithSession: (all(.twoStyles), .mixed, "mixed")
        case .password, .instanceSecret: (all(.answered(as: .developer)), .administrator, nil)
        // The wrong password itself: `wrongPassword`.
        case .otherAuthorization: (nobody, .administrator, "wrongPassword")
        case .ownerAlone, .ownerWithToken: (all(.administratorOnly), .administrator, "administrator")
        case .ownerWithPassword: (all(.answered(as: .developer)), .owner, nil)
        case .ownerWithInstanceSecret: (all(.answered(as: .anna)), .owner, nil)
        case .anonymousAlone: (all(.administratorOnly), .administrator, "administrator")
        case .anonymousWithPassword: (app, .administrator, nil)
        }
    }

    /// On an open server, unknown credentials are ignored, and known ones count as usual.
    private static func open(_ brought: CredentialStage.Brought) -> (
        outcomes: [Outcome], way: Authentication.Way, problem: String?
    ) {
        switch brought {
        case .nothing, .unknownToken, .unknownKey, .password, .instanceSecret, .otherAuthorization:
            (all(.answered(as: .developer)), .open, nil)
        case .ownerAlone, .ownerWithPassword, .ownerWithToken: (all(.answered(as: .developer)), .owner, nil)
        case .ownerWithInstanceSecret: (all(.answered(as: .anna)), .owner, nil)
        case .anonymousAlone, .anonymousWithPassword: (app, .open, nil)
        case .apiToken, .restrictedTokenFromListedPage, .unknownSession:
            (all(.answered(as: .developer)), .apiToken, nil)
        case .sessionWithUnknownToken: (all(.answered(as: .anna)), .webAuth, nil)
        default: required(brought)
        }
    }

    @Test("Each way to come × each service", arguments: AccessControl.Mode.allCases)
    func everyCell(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            try await stage.makeOpenType()
            for brought in CredentialStage.Brought.allCases {
                try await play(brought, mode, mode == .open ? Self.open(brought) : Self.required(brought), stage)
            }
        }
    }

    /// Not part of the table, because only five wrong passwords per address are checked.
    @Test("The first wrong passwords of a place are answered like no credentials at all, and noted")
    func wrongPassword() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            try await stage.makeOpenType()
            let header = "Authorization: Basic " + Data("admin:guess".utf8).base64EncodedString()
            for (column, services) in Self.services {
                let service = try #require(services.first)
                let sent = CredentialStage.Sent(
                    target: "/database/1/\(CredentialStage.container)/development/\(service.path)", headers: [header])
                let response = try await stage.send(service.method, sent, service.body)
                let what = "\(service.path): \(response.status) \(response.text.prefix(500))"
                try check(response, Self.nobody[column], stage, .otherAuthorization, service.path, what)
                let noted = try #require(
                    response.headers["x-skylight-request"].flatMap { server.log.request($0) }, "\(what)")
                #expect(
                    noted.authentication?.way == .administrator
                        && noted.authentication?.problem?.kind == "wrongPassword", "\(what)")
            }
        }
    }

    private func play(
        _ brought: CredentialStage.Brought, _ mode: AccessControl.Mode,
        _ expected: (outcomes: [Outcome], way: Authentication.Way, problem: String?),
        _ stage: CredentialStage
    ) async throws {
        for (column, services) in Self.services {
            for service in services {
                let path =
                    service.path.hasPrefix("/")
                    ? service.path : "/database/1/\(CredentialStage.container)/development/\(service.path)"
                let sent = try stage.sent(brought, path, body: service.body)
                let response = try await stage.send(service.method, sent, service.body)
                let what =
                    "\(mode.rawValue), \(brought.rawValue), \(service.method) \(service.path): \(response.status) \(response.text.prefix(500))"
                try check(response, expected.outcomes[column], stage, brought, service.path, what)
                let noted = try #require(
                    response.headers["x-skylight-request"].flatMap { stage.server.log.request($0) }, "\(what)")
                #expect(noted.authentication?.way == expected.way, "\(what)")
                let problem = noted.authentication?.problem?.kind
                #expect(
                    expected.problem == Self.anyProblem ? problem != nil : problem == expected.problem,
                    "\(what) \(problem ?? "")")
                #expect(noted.container?.description == CredentialStage.container, "\(what)")
                #expect(noted.userRecordName == expectedUser(expected.outcomes[column], stage), "\(what)")
                #expect(
                    !noted.target.contains(stage.apiToken.secret)
                        && !noted.target.contains(PercentEncoding.encoded(stage.session.token)), "\(what)")
            }
        }
    }

    private func expectedUser(_ outcome: Outcome, _ stage: CredentialStage) -> Name? {
        switch outcome {
        case .answered(as: .anna): stage.anna.userRecordName
        case .answered(as: .key): stage.key.userRecordName
        case .answered(as: .developer): User.recordName(ofHandle: User.developerHandle)
        default: nil
        }
    }

    private func check(
        _ response: RawResponse, _ outcome: Outcome, _ stage: CredentialStage, _ brought: CredentialStage.Brought,
        _ service: String, _ what: String
    ) throws {
        let json = try response.json()
        func expect(_ status: Int, _ code: String, _ reason: String) {
            #expect(response.status == status, "\(what)")
            let body: JSONValue = ["uuid": "<any>", "serverErrorCode": .string(code), "reason": .string(reason)]
            #expect(Subset.differences(body, json) == [], "\(what)")
            #expect((Subset.value(at: "redirectURL", in: json) != nil) == (status == 421), "\(what)")
        }
        let isOfSession = brought.rawValue.lowercased().contains("session")
        switch outcome {
        case .answered(let speaker):
            #expect(response.status == 200, "\(what)")
            if service.hasPrefix("public/users/c"), let user = expectedUser(.answered(as: speaker), stage) {
                #expect(Subset.value(at: "userRecordName", in: json) == .string(user.string), "\(what)")
            }
            // Valid web auth tokens get a new token with each answer; other credentials do not.
            let next = response.headers["x-apple-cloudkit-web-auth-token"]
            #expect((next != nil) == (isOfSession && speaker == .anna), "\(what)")
            #expect(next == nil || next != stage.session.token && next != stage.underToken.token, "\(what)")
            // Clients that send ckSession get the token under its older name too.
            #expect(
                response.headers["x-apple-cloudkit-session"] == (brought == .sessionUnderOldName ? next : nil),
                "\(what)")
            return
        case .failed: expect(401, "AUTHENTICATION_FAILED", "no auth method found")
        case .administratorOnly: expect(401, "AUTHENTICATION_FAILED", "<has administrator>")
        case .signIn:
            expect(421, "AUTHENTICATION_REQUIRED", "request needs authorization")
            try checkRedirect(json, stage, brought, what)
        case .privateDenied: expect(403, "ACCESS_DENIED", "private db access disabled for this account")
        case .peopleDenied: expect(403, "ACCESS_DENIED", "<has needs a signed-in user>")
        case .twoStyles:
            expect(400, "BAD_REQUEST", "<has ckAPIToken>")
            expect(400, "BAD_REQUEST", "<has X-Apple-CloudKit-Request-KeyID>")
        }
        #expect(response.headers["x-apple-cloudkit-web-auth-token"] == nil, "\(what)")
    }

    /// Checks the target of the redirect.
    private func checkRedirect(
        _ json: JSONValue, _ stage: CredentialStage, _ brought: CredentialStage.Brought, _ what: String
    ) throws {
        guard case .string(let url)? = Subset.value(at: "redirectURL", in: json) else { return }
        // The client gets the sign-in ticket; the log must not contain it.
        let id = try #require(
            Subset.value(at: "uuid", in: json).flatMap { if case .string(let id) = $0 { id } else { nil } }, "\(what)")
        let kept = String(decoding: stage.server.log.bodies(of: id)?.response?.bytes ?? [], as: UTF8.self)
        #expect(kept.contains("ticket=hidden") && !kept.contains(url.suffix(20)), "\(what): \(kept)")
        let start = "http://localhost/sign-in?ticket="
        #expect(url.hasPrefix(start), "\(what)")
        let request = try #require(
            stage.server.accounts.signInRequest(ticket: String(url.dropFirst(start.count)), now: Date()), "\(what)")
        #expect(
            request.container.description == CredentialStage.container && request.environment == .development, "\(what)"
        )
        let token: String? =
            switch brought {
            case .nothing, .otherAuthorization, .anonymousAlone, .anonymousWithPassword: nil
            case .restrictedTokenFromListedPage: stage.restricted.token.id
            default: stage.apiToken.token.id
            }
        #expect(request.apiTokenID == token, "\(what)")
        #expect(
            request.origin == (brought == .restrictedTokenFromListedPage ? CredentialStage.listedOrigin : nil),
            "\(what)")
    }
}
