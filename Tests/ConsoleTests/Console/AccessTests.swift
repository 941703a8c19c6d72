import Accounts
import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Records
import Testing

/// Access control of the console's pages.
@Suite struct AccessTests {
    private static let place = "/c/iCloud.com.example.App/development/private"

    // MARK: The gate

    @Test func openPagesAskNobody() async throws {
        try await AccessStage.run(.open) { stage in
            let page = try await stage.get("/")
            #expect(page.status == .ok)
            let text = String(buffer: page.body)
            #expect(!text.contains("form-secret") && !text.contains("Sign out"))
            #expect(
                try await stage.post("\(Self.place)/zones/create", "zoneName=More").headers[.location]?.contains(
                    "zone=More") == true)
            // There is no sign-in.
            #expect(try await stage.get("/admin/sign-in?next=/find").headers[.location] == "/find")
            #expect(try await stage.post("/admin/sign-in", "password=x").headers[.location] == "/")
            #expect(try await stage.post("/admin/sign-out", "").headers[.location] == "/")
        }
    }

    @Test func pagesLeadToTheSignInAndBack() async throws {
        try await AccessStage.run { stage in
            let answer = try await stage.get("\(Self.place)/query?type=Note&zone=Notes")
            #expect(answer.status == .seeOther)
            let location = try #require(answer.headers[.location])
            #expect(
                location
                    == "/admin/sign-in?next=%2Fc%2FiCloud.com.example.App%2Fdevelopment%2Fprivate%2Fquery%3Ftype%3DNote%26zone%3DNotes"
            )
            let page = String(buffer: try await stage.get(location).body)
            #expect(page.contains("name=\"next\" value=\"\(Self.place)/query?type=Note&amp;zone=Notes\""))
            #expect(try await stage.get("/").headers[.location] == "/admin/sign-in")
            // The sign-in page needs its style sheet.
            #expect(try await stage.get("/static/skylight.css").status == .ok)
            let signedIn = try await stage.post(
                "/admin/sign-in", "password=correct+horse+battery&next=%2Fc%2Fx%3Fa%3Db")
            #expect(signedIn.status == .seeOther && signedIn.headers[.location] == "/c/x?a=b")
        }
    }

    @Test func scriptsAndFormsGetAnError() async throws {
        try await AccessStage.run { stage in
            let header = try #require(HTTPField.Name("Sec-Fetch-Mode"))
            let ofScript = try await stage.get("\(Self.place)/query", [header: "cors"])
            #expect(ofScript.status == .unauthorized && ofScript.headers[.wwwAuthenticate] == nil)
            let form = try await stage.post(
                "\(Self.place)/zones/create", "zoneName=More", [.referer: "http://localhost\(Self.place)/zones"])
            #expect(form.status == .unauthorized)
            let text = String(buffer: form.body)
            #expect(
                text.contains("Nothing was changed")
                    && text.contains("next=%2Fc%2FiCloud.com.example.App%2Fdevelopment%2Fprivate%2Fzones"))
        }
    }

    @Test func thePasswordAndTheSecretOfTheFolderOpenPagesToo() async throws {
        try await AccessStage.run { stage in
            func authorization(_ value: String) -> HTTPFields { [.authorization: value] }
            let basic = "Basic " + Data("admin:\(AccessStage.password)".utf8).base64EncodedString()
            #expect(try await stage.get("/", authorization(basic)).status == .ok)
            #expect(try await stage.get("/", authorization("Bearer of this run")).status == .ok)
            #expect(
                try await stage.post("\(Self.place)/zones/create", "zoneName=More", authorization("bearer of this run"))
                    .status == .seeOther)
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            // Browsers send a remembered password along with requests of other pages too.
            #expect(try await stage.get("/", [.authorization: basic, site: "same-site"]).status == .unauthorized)
            #expect(
                try await stage.get("/", [.authorization: basic, .origin: "http://localhost:3000"]).status
                    == .unauthorized)
            for wrong in [
                "Bearer", "Bearer of this ru", "Bearer of this run2", "Basic", "Basic !",
                "Basic " + Data("admin".utf8).base64EncodedString(), "Digest x",
                "Basic " + Data("root:\(AccessStage.password)".utf8).base64EncodedString(),
            ] {
                #expect(try await stage.get("/", authorization(wrong)).status == .unauthorized, "\(wrong)")
            }
        }
    }

    // MARK: Signing in and out

    @Test func wrongPasswordsAreRefusedAndThenDelayed() async throws {
        try await AccessStage.run { stage in
            let wrong = try await stage.post("/admin/sign-in", "password=wrong&next=%2Ffind")
            #expect(wrong.status == .forbidden && wrong.headers[.setCookie] == nil)
            let text = String(buffer: wrong.body)
            #expect(text.contains("not the administrator’s password"))
            #expect(text.contains("value=\"/find\""))
            // Side by side: on a slow machine the line would get shorter between two tries.
            let refused = try await withThrowingTaskGroup(of: TestResponse.self) { group in
                for _ in 0..<60 { group.addTask { try await stage.post("/admin/sign-in", "password=wrong") } }
                return try await group.first { $0.status == .tooManyRequests }
            }
            let answer = try #require(refused, "who comes to a long line is sent away")
            #expect(answer.headers[.retryAfter].flatMap { Int($0) }.map { $0 > 0 } == true)
            #expect(String(buffer: answer.body).contains("Too many wrong passwords"))
        }
    }

    @Test func withoutAPasswordThePageSaysHow() async throws {
        try await AccessStage.run(password: nil) { stage in
            let page = try await stage.get("/admin/sign-in")
            let text = String(buffer: page.body)
            #expect(
                text.contains("skylight admin set-password") && text.contains("SKYLIGHT_ADMIN_PASSWORD")
                    && !text.contains("type=\"password\""))
            #expect(try await stage.post("/admin/sign-in", "password=").headers[.setCookie] == nil)
            try await stage.accounts.setAdministratorPassword(AccessStage.password)
            #expect(String(buffer: try await stage.get("/admin/sign-in").body).contains("type=\"password\""))
            #expect(try await stage.get("/", try await stage.signIn()).status == .ok)
        }
    }

    @Test func signingOutEndsTheSession() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()
            let secret = try await stage.secret(cookie)
            #expect(try await stage.get("/admin/sign-in?next=/find", cookie).headers[.location] == "/find")
            let out = try await stage.post("/admin/sign-out", "form-secret=\(secret)", cookie)
            #expect(out.status == .seeOther)
            #expect(out.headers[.setCookie] == "skylight-80=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
            let location = try #require(out.headers[.location])
            #expect(String(buffer: try await stage.get(location).body).contains("You are signed out"))
            #expect(try await stage.get("/", cookie).status == .seeOther)
        }
    }

    @Test(arguments: [
        "//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "evil.example", "",
        "/admin/sign-in", "/a b", "/\u{9}/evil.example", "/é",
        "javascript:alert(1)",
    ])
    func theSignInLeadsNowhereElse(next: String) async throws {
        try await AccessStage.run { stage in
            let encoded = PercentEncoding.encoded(next)
            #expect(
                try await stage.post("/admin/sign-in", "password=correct+horse+battery&next=\(encoded)").headers[
                    .location] == "/")
            let page = String(buffer: try await stage.get("/admin/sign-in?next=\(encoded)").body)
            #expect(!page.contains("name=\"next\""))
        }
    }

    // MARK: The cookie

    @Test func theCookieIsForThisServerAndNotForScripts() async throws {
        try await AccessStage.run { stage in
            let answer = try await stage.post("/admin/sign-in", "password=correct+horse+battery")
            let cookie = try #require(answer.headers[.setCookie])
            #expect(
                cookie.wholeMatch(of: /skylight-80=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict/) != nil,
                "\(cookie)")
        }
        try await AccessStage.run(isSecure: true) { stage in
            let answer = try await stage.post("/admin/sign-in", "password=correct+horse+battery")
            let cookie = try #require(answer.headers[.setCookie])
            #expect(
                cookie.wholeMatch(of: /__Host-skylight-443=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Secure/)
                    != nil, "\(cookie)")
            #expect(try await stage.get("/", [.cookie: String(cookie.prefix { $0 != ";" })]).status == .ok)
        }
    }

    @Test func onlyTheRightCookieCounts() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()[.cookie] ?? ""
            let token = cookie.dropFirst("skylight-80=".count)
            func status(_ value: String) async throws -> Int { try await stage.get("/", [.cookie: value]).status.code }
            #expect(try await status("a=b; \(cookie);c=d") == 200)
            // A cookie that another page set comes first.
            #expect(try await status("skylight-80=x; \(cookie)") == 200)
            for wrong in [
                "skylight-80=", "skylight-81=\(token)", "__Host-skylight-80=\(token)",
                "skylight-80=\(token.dropLast())", "skylight-80=\(token)0", String(token),
            ] {
                #expect(try await status(wrong) == 303, "\(wrong)")
            }
        }
    }

    // MARK: Forms

    @Test func everyFormOfAPageCarriesTheSecret() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()
            let secret = try await stage.secret(cookie)
            let field = "<input type=\"hidden\" name=\"form-secret\" value=\"\(secret)\">"
            for page in [
                "/", "zones", "zone?zone=Notes", "types", "indexes", "users", "errors", "token", "importing", "schema",
                "rehearsals", "check", "nothing",
            ] {
                let text = String(
                    buffer: try await stage.get(page.hasPrefix("/") ? page : "\(Self.place)/\(page)", cookie).body)
                let forms = text.matches(of: /<form\b[^>]*method="post"[^>]*>/)
                // At least the sign-out form.
                #expect(!forms.isEmpty, "\(page)")
                for form in forms {
                    #expect(text[form.range.upperBound...].hasPrefix(field), "\(page): \(form.output)")
                }
                #expect(text.components(separatedBy: field).count == forms.count + 1, "\(page)")
                #expect(
                    !text.matches(of: /<form\b[^>]*method="get"[^>]*>/).contains {
                        text[$0.range.upperBound...].hasPrefix(field)
                    }, "\(page)")
            }
        }
    }

    @Test func formsOfEitherKindAreLetThroughWithTheSecret() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()
            let secret = try await stage.secret(cookie)
            let made = try await stage.post("\(Self.place)/zones/create", "form-secret=\(secret)&zoneName=More", cookie)
            #expect(made.status == .seeOther && made.headers[.location]?.contains(secret) == false)
            // The secret comes after a large field.
            let late = try await stage.post(
                "\(Self.place)/zones/create",
                "pick=\(String(repeating: "x", count: 200_000))&zoneName=Late&form-secret=\(secret)", cookie)
            #expect(late.status == .seeOther)
            let zones = String(buffer: try await stage.get("\(Self.place)/zones", cookie).body)
            #expect(zones.contains("More") && zones.contains("Late"))
            var headers = cookie
            headers[.contentType] = "multipart/form-data; boundary=b"
            func parts(_ secret: String) -> String {
                "--b\r\nContent-Disposition: form-data; name=\"form-secret\"\r\n\r\n\(secret)\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n"
                    + "DEFINE SCHEMA RECORD TYPE T (a STRING);\r\n--b--\r\n"
            }
            #expect(try await stage.post("\(Self.place)/schema/preview", parts(secret), headers).status != .forbidden)
            #expect(try await stage.post("\(Self.place)/schema/preview", parts("0"), headers).status == .forbidden)
            headers = cookie
            headers[try #require(HTTPField.Name(AccessControl.forgeryHeader))] = secret
            #expect(try await stage.post("\(Self.place)/zones/create", "zoneName=Third", headers).status == .seeOther)
        }
    }

    @Test func aFormWithoutItIsRefusedAndChangesNothing() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()
            let other = try await stage.secret(try await stage.signIn())
            for form in [
                "zoneName=More", "zoneName=More&form-secret=", "zoneName=More&form-secret=\(other)",
                "zoneName=More&form-secret%20=\(other)",
            ] {
                let answer = try await stage.post("\(Self.place)/zones/create", form, cookie)
                #expect(
                    answer.status == .forbidden
                        && String(buffer: answer.body).contains("The form is not from this session"), "\(form)")
            }
            #expect(!String(buffer: try await stage.get("\(Self.place)/zones", cookie).body).contains("More"))
        }
    }

    /// A page that puts the submitted fields into its address must leave the secret out.
    @Test func theSecretGetsIntoNoAddress() async throws {
        try await AccessStage.run { stage in
            let cookie = try await stage.signIn()
            let secret = try await stage.secret(cookie)
            for (path, form) in [
                ("token", "token=x"), ("errors", "error=x"), ("queries/save", "name=q&back=%2Fc%2Fx&type=Note"),
                ("users/add", "handle=ada"),
                ("record/copy", "zone=Notes&name=a&zoneName=Other&do=preview"),
            ] {
                let answer = try await stage.post("\(Self.place)/\(path)", "form-secret=\(secret)&\(form)", cookie)
                #expect(answer.status != .forbidden, "\(path)")
                #expect(answer.headers[.location]?.contains(secret) != true, "\(path)")
            }
        }
    }
}
