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
        let note = asked.query["signed-out"] == "1" ? Note(remark: "You are signed out.") : nil
        return .page(
            asked.console.accounts.hasAdministratorPassword ? page(next: next, note) : withoutPassword())
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
            return .page(
                page(next: next, status: .forbidden, Note(bad: "That is not the administrator’s password.")))
        case .tooMany(let seconds):
            AccessControl.note(.tooManyPasswords, of: request, context)
            let wait = Note(bad: "Too many wrong passwords. Try again in \(Digits.count(seconds, "second")).")
            return .page(page(next: next, status: .tooManyRequests, retryAfter: seconds, wait))
        case .notSet:
            return .page(withoutPassword())
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

// MARK: - Pages

extension AdministratorSignIn {
    private static let heading = "Sign in to the console"

    /// - Parameter note: why there is no session.
    private static func page(
        next: String?, status: HTTPResponse.Status = .ok, retryAfter: Int? = nil, _ note: Note?
    ) -> AlonePage {
        AlonePage(
            title: "Sign in", heading, status: status, retryAfter: retryAfter, isOfConsole: true,
            (note.map { [$0] } ?? []) + [
                Paragraph(
                    "The console shows and changes everything on this server. Only the administrator can use it."),
                PasswordForm(action: SignInPath.page, next: next),
                Paragraph.faint(
                    "Forgotten? Set a new one on the server’s machine with `skylight admin set-password`."),
            ])
    }

    private static func withoutPassword() -> AlonePage {
        AlonePage(
            title: "Sign in", heading, isOfConsole: true,
            [
                Paragraph(
                    "No administrator’s password is set, so nobody can sign in. Set one on the server’s machine:"),
                CodeBlock("The command that sets a password", "skylight admin set-password"),
                Paragraph(
                    "It works at once. You can also start the server with the environment variable `SKYLIGHT_ADMIN_PASSWORD`."
                ), Paragraph.actions([.go("Try again", SignInPath.page)]),
            ])
    }
}

/// The form of a sign-in, with what password managers look for.
struct PasswordForm: Component {
    static let template = "password_form"

    let action: String
    let next: String?
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
