internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// Bytes that the form of a sign-in may have.
    private static let signInLimit = 16 << 10
    private static let signInPath: RouterPath = "/sign-in"

    /// The page that an answer with status 421 leads to: where the user of an app signs in. It is open to everybody, and is no part of the console.
    func addSignInPages(to router: Router<ServingRequestContext>) {
        router.get(Self.signInPath) { request, _ in
            try signInResponse(SignIn.show(request.queryFields["ticket"] ?? "", by: access, renderer.staticFiles))
        }
        router.post(Self.signInPath) { request, context in
            do {
                // Where credentials are required, strangers come here too.
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

    /// An answer with which the browser may go back to the app: a form that leads there, and a window that knows who opened it.
    private func signInResponse(_ outcome: SignIn.Outcome) throws -> Response {
        var response: Response
        switch outcome {
        case .page(let page, let way):
            response = try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
            // What a form leads to in the end counts too.
            if let target = way?.formTarget, let policy = HTTPField.Name("Content-Security-Policy") {
                response.headers[policy] = SecurityHeaders.contentSecurityPolicy.replacing("form-action 'self'", with: "form-action 'self' \(target)")
            }
        case .redirect(let location):
            response = .redirect(to: location)
        }
        // Otherwise the browser cuts the way between this window and the one that opened it.
        if let policy = HTTPField.Name("Cross-Origin-Opener-Policy") { response.headers[policy] = "unsafe-none" }
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
