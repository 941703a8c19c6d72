internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// The size limit of the sign-in form, in bytes.
    private static let signInLimit = 16 << 10
    private static let signInPath = "/sign-in"

    /// Adds the page where the user of an app signs in: an answer with status 421
    /// refers to it. It is open to all clients, and is not part of the console.
    func addSignInPages(to router: Routes.Group) {
        router.get(Self.signInPath) { request, _ in
            try signInResponse(SignIn.show(request.queryFields["ticket"] ?? "", by: access, renderer.staticFiles))
        }
        router.post(Self.signInPath) { request, context in
            do {
                // In required mode, unknown clients can reach this page. So sign-in attempts are rate-limited.
                if access.mode == .required { try accounts.admitSignIn(from: context.peer) }
                let fields = FormFields(encoded: try await request.bodyBytes(limit: Self.signInLimit))
                return try signInResponse(try await SignIn.answer(fields, from: context.peer, by: access, renderer.staticFiles))
            } catch let error as RecordError where error.code == .throttled {
                var response = try signInResponse(.page(SignInEndView.tooMany(error.reason, renderer.staticFiles), way: nil))
                if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
                return response
            }
        }
    }

    /// A response that lets the browser return to the app: the policies permit a form that targets the app, and access to the opener window.
    private func signInResponse(_ outcome: SignIn.Outcome) throws -> Response {
        var response: Response
        switch outcome {
        case .page(let page, let way):
            response = try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
            // The form-action policy also applies to the redirect target of a form.
            if let target = way?.formTarget {
                response.headers[.contentSecurityPolicy] = SecurityHeaders.contentSecurityPolicy.replacing("form-action 'self'", with: "form-action 'self' \(target)")
            }
        case .redirect(let location):
            response = .redirect(to: location)
        }
        // Otherwise the browser severs the connection between this window and its opener.
        response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
