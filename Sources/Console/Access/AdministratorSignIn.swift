internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Console {
    /// The size limit of the sign-in form, in bytes.
    private static let signInFormLimit = 16 << 10
    /// The size limit in bytes of the largest form, which uploads a file to import.
    package static let largestForm = 33 << 20
    /// The size in bytes of the largest file in such a form, as pages tell it. The rest is for the other fields.
    package static let largestFile = largestForm - (1 << 20)

    /// Adds the administrator's sign-in. It is open to all clients.
    func addAdministratorSignIn(to router: Routes.Group) {
        router.get(SignInPath.page) { request, _ -> Response in
            let next = SignInPath.local(request.queryFields["next"])
            guard access.mode == .required, access.consoleSession(of: request) == nil else {
                return .redirect(to: next ?? "/")
            }
            let notice: AdministratorSignInView.Notice? = request.queryFields["signed-out"] == "1" ? .signedOut : nil
            return try response(
                AdministratorSignInView(next: next, hasPassword: accounts.hasAdministratorPassword, notice: notice))
        }
        router.post(SignInPath.page) { request, context -> Response in
            let fields = FormFields(encoded: try await request.bodyBytes(limit: Self.signInFormLimit))
            let next = SignInPath.local(fields["next"])
            guard access.mode == .required else { return .redirect(to: next ?? "/") }
            switch try await accounts.checkAdministrator(password: fields["password"] ?? "", from: context.peer) {
            case .accepted:
                var answer = Response.redirect(to: next ?? "/")
                answer.headers[.setCookie] = access.cookie(accounts.openConsoleSession(), for: request)
                answer.headers[.cacheControl] = "no-store"
                return answer
            case .refused:
                AccessControl.note(.wrongPassword, of: request, context)
                return try response(AdministratorSignInView(next: next, hasPassword: true, notice: .wrongPassword))
            case .tooMany(let seconds):
                AccessControl.note(.tooManyPasswords, of: request, context)
                var answer = try response(
                    AdministratorSignInView(next: next, hasPassword: true, notice: .tooMany(seconds: seconds)))
                answer.headers[.retryAfter] = String(seconds)
                return answer
            case .notSet:
                return try response(AdministratorSignInView(next: next, hasPassword: false))
            }
        }
    }

    /// Adds the sign-out. It is behind the gate.
    func addSignOut(to router: Routes.Group) {
        router.post(SignInPath.signOut) { request, _ -> Response in
            guard access.mode == .required else { return .redirect(to: "/") }
            if let session = SignedIn.session { accounts.endConsoleSession(token: session.token) }
            var answer = Response.redirect(to: FormFields.url(SignInPath.page, [(name: "signed-out", value: "1")]))
            answer.headers[.setCookie] = access.endedCookie(for: request)
            return answer
        }
    }

    private func response(_ page: AdministratorSignInView) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}

// MARK: - Page

/// The page on which the administrator signs in.
struct AdministratorSignInView: Page {
    static let template = "admin_sign_in"
    static let tab = Tab.home

    /// The reason why there is no session.
    enum Notice: Sendable {
        case wrongPassword
        case tooMany(seconds: Int)
        case signedOut

        fileprivate var text: String {
            switch self {
            case .wrongPassword: "That is not the administrator’s password."
            case .tooMany(let seconds): "Too many wrong passwords. Try again in \(Digits.count(seconds, "second"))."
            case .signedOut: "You are signed out."
            }
        }
    }

    let title = "Sign in"
    let status: HTTPResponse.Status
    let script: String? = nil
    let action = SignInPath.page
    let next: String?
    /// True if an administrator password is set.
    let hasPassword: Bool
    let notice: String?
    let isComplaint: Bool

    init(next: String?, hasPassword: Bool, notice: Notice? = nil) {
        self.next = SignInPath.local(next)
        self.hasPassword = hasPassword
        self.notice = notice?.text
        switch notice {
        case .wrongPassword: (status, isComplaint) = (.forbidden, true)
        case .tooMany: (status, isComplaint) = (.tooManyRequests, true)
        case .signedOut, nil: (status, isComplaint) = (.ok, false)
        }
    }
}

// MARK: - Addresses

/// The addresses of the administrator's sign-in, and the pages to which it may redirect.
enum SignInPath {
    static let page = "/admin/sign-in"
    static let signOut = "/admin/sign-out"

    /// The address of the sign-in page that continues to a page of the console.
    static func address(next: String?) -> String {
        guard let next = local(next), next != "/" else { return page }
        return FormFields.url(page, [(name: "next", value: next)])
    }

    /// The text if it is a path on this server that no browser reads as another host. `nil` for anything else, and for
    /// the sign-in itself.
    static func local(_ text: String?) -> String? {
        guard let text, text.utf8.count <= 4096, text.hasPrefix("/"), !text.hasPrefix("//"), !text.hasPrefix("/admin/"),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        return text
    }

    /// The path of a page, from an absolute URL.
    static func path(ofPage page: String?) -> String? {
        guard let page, let scheme = page.firstRange(of: "://") else { return nil }
        let rest = page[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { String(rest[$0...]) }
    }
}
