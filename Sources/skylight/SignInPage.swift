import CloudKitClient
import CloudKitRecordStore
import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import Records
import Text

/// A page on this machine that opens iCloud's sign-in, and takes its answer back: by the redirect of an API token, or by a message of the window that
/// it opened.
struct SignInPage: Sendable {
    let container: ContainerID
    /// The address of iCloud's sign-in page.
    let signInURL: String
    /// The path for messages. No other page knows it.
    let messagePath = "/" + AccessOptions.randomSecret()
    private let nonce = AccessOptions.randomSecret()

    init(container: ContainerID, signInURL: String) {
        self.container = container
        self.signInURL = signInURL
    }

    /// - Parameter body: of a POST.
    /// - Returns: the response, and the end of the sign-in if the request tells it.
    func response(to method: HTTPRequest.Method, _ target: String, body: String = "") -> (response: Response, answer: SignInAnswer?) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? parts[1] : ""
        switch method {
        case .post where String(parts[0]) == messagePath:
            let answer = SignInAnswer(query: body) ?? .refused(code: "unknownError")
            return (.text(Self.words(for: answer)), answer)
        case .get:
            guard let answer = SignInAnswer(query: query) else { return (page(start), nil) }
            return (page(end(Self.words(for: answer))), answer)
        default:
            return (.text("Not found", status: .notFound), nil)
        }
    }

    /// The outcome for the person who signed in, without the token.
    private static func words(for answer: SignInAnswer) -> String {
        switch answer {
        case .token: "You are signed in. Close this window and go back to the terminal."
        case .refused(let code): ConnectionAttempt.refusal(code)
        }
    }

    // MARK: HTML

    private func page(_ content: String) -> Response {
        var response = Response.html(
            """
            <!DOCTYPE html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>Connect \(container.description.htmlEscaped)</title>
            <style nonce="\(nonce)">body { font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 3em auto; padding: 0 1em }</style>
            <h1>Connect \(container.description.htmlEscaped)</h1>
            \(content)
            </html>
            """)
        response.headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; form-action 'none'; base-uri 'none'; "
            + "frame-ancestors 'none'"
        // The window that this page opens has to find its way back.
        response.headers[.crossOriginOpenerPolicy] = "same-origin-allow-popups"
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }

    private var start: String {
        """
        <p>Skylight asks iCloud for access to your data in this container. You sign in at Apple; Skylight gets a token, and keeps it on this machine.</p>
        <p><button id="open" data-address="\(signInURL.htmlEscaped)" data-path="\(messagePath)">Sign in to iCloud</button></p>
        <p id="state" role="status"></p>
        <script nonce="\(nonce)">
        const button = document.getElementById("open");
        const state = document.getElementById("state");
        let opened = null;
        button.addEventListener("click", () => {
            opened = window.open(button.dataset.address, "sign-in", "width=525,height=640");
            if (!opened) { location.href = button.dataset.address; }
        });
        window.addEventListener("message", async (event) => {
            if (!opened || event.source !== opened || typeof event.data !== "object" || event.data === null) { return; }
            const told = new URLSearchParams();
            for (const name of ["ckWebAuthToken", "ckSession", "errorMessage"]) {
                if (typeof event.data[name] === "string") { told.set(name, event.data[name]); }
            }
            if (told.size === 0) { return; }
            const answer = await fetch(button.dataset.path, { method: "POST", body: told.toString() });
            state.textContent = await answer.text();
            opened.close();
        });
        </script>
        """
    }

    private func end(_ words: String) -> String {
        """
        <p role="status">\(words.htmlEscaped)</p>
        <script nonce="\(nonce)">history.replaceState(null, "", "/");</script>
        """
    }
}
