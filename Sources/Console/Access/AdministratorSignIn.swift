internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

extension Console {
    /// The size limit in bytes of the largest form, which uploads a file to import.
    package static let largestForm = 33 << 20
    /// The size in bytes of the largest file in such a form, as pages tell it. The rest is for the other fields.
    package static let largestFile = largestForm - (1 << 20)
}

/// The administrator's sign-in and sign-out.
package enum AdministratorSignIn {
    package static func show(_ asked: ConsoleRequest) -> Answer {
        let access = asked.console.access
        let next = SignInPath.local(asked.query["next"])
        guard access.mode == .required, access.consoleSession(of: asked.request) == nil else {
            return .redirect(next ?? "/")
        }
        let notice: AdministratorSignInView.Notice? = asked.query["signed-out"] == "1" ? .signedOut : nil
        return .page(
            AdministratorSignInView(
                next: next, hasPassword: asked.console.accounts.hasAdministratorPassword, notice: notice))
    }

    package static func submit(_ asked: ConsoleRequest) async throws -> Answer {
        let (console, request, context) = (asked.console, asked.request, asked.context)
        let fields = FormFields(encoded: try await asked.body())
        let next = SignInPath.local(fields["next"])
        guard console.access.mode == .required else { return .redirect(next ?? "/") }
        switch try await console.accounts.checkAdministrator(password: fields["password"] ?? "", from: context.peer) {
        case .accepted:
            var answer = Response.redirect(to: next ?? "/")
            answer.headers[.setCookie] = console.access.cookie(console.accounts.openConsoleSession(), for: request)
            answer.headers[.cacheControl] = "no-store"
            return .response(answer)
        case .refused:
            AccessControl.note(.wrongPassword, of: request, context)
            return .page(AdministratorSignInView(next: next, hasPassword: true, notice: .wrongPassword))
        case .tooMany(let seconds):
            AccessControl.note(.tooManyPasswords, of: request, context)
            return .page(
                AdministratorSignInView(next: next, hasPassword: true, notice: .tooMany(seconds: seconds)))
        case .notSet:
            return .page(AdministratorSignInView(next: next, hasPassword: false))
        }
    }

    package static func signOut(_ asked: ConsoleRequest) -> Answer {
        guard asked.console.access.mode == .required else { return .redirect("/") }
        if let session = SignedIn.session { asked.console.accounts.endConsoleSession(token: session.token) }
        var answer = Response.redirect(to: FormFields.url(SignInPath.page, [(name: "signed-out", value: "1")]))
        answer.headers[.setCookie] = asked.console.access.endedCookie(for: asked.request)
        return .response(answer)
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
    let retryAfter: Int?

    init(next: String?, hasPassword: Bool, notice: Notice? = nil) {
        self.next = SignInPath.local(next)
        self.hasPassword = hasPassword
        self.notice = notice?.text
        retryAfter = if case .tooMany(let seconds)? = notice { seconds } else { nil }
        switch notice {
        case .wrongPassword: (status, isComplaint) = (.forbidden, true)
        case .tooMany: (status, isComplaint) = (.tooManyRequests, true)
        case .signedOut, nil: (status, isComplaint) = (.ok, false)
        }
    }
}

// MARK: - Addresses

/// The addresses of the administrator's sign-in, and the pages to which it may redirect.
package enum SignInPath {
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
    package static func path(ofPage page: String?) -> String? {
        guard let page, let scheme = page.firstRange(of: "://") else { return nil }
        let rest = page[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { String(rest[$0...]) }
    }
}
