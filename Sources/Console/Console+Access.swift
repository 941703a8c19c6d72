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
            guard access.mode == .required, access.consoleSession(of: request) == nil else { return .redirect(to: next ?? "/") }
            let notice: AdministratorSignInView.Notice? = request.queryFields["signed-out"] == "1" ? .signedOut : nil
            return try response(AdministratorSignInView(next: next, hasPassword: accounts.hasAdministratorPassword, notice: notice))
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
                var answer = try response(AdministratorSignInView(next: next, hasPassword: true, notice: .tooMany(seconds: seconds)))
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
