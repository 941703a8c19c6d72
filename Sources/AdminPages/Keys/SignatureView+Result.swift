internal import Accounts
internal import Console
internal import Foundation
internal import HTTPServing
internal import Records

extension SignatureView.Result {
    /// Checks a request as the web services would, and lists the parts that the signature must cover.
    static func of(_ form: SignatureForm, _ visit: Visit) async throws -> SignatureView.Result {
        let body = Array(form.body.utf8)
        let hash = try await WorkPool.prompt.run(on: body.count) { RequestSignature.bodyHash(body) }
        let now = Date()
        let date = form.date.isEmpty ? RequestSignature.date(of: Int64(now.timeIntervalSince1970)) : form.date
        let parts = [
            SignatureView.Part(
                name: "date", text: date, note: form.date.isEmpty ? "the current time, because the request has none; \(SignatureForm.dateHeader) must have the same value" : nil),
            SignatureView.Part(
                name: "body hash", text: hash,
                note: body.isEmpty ? "SHA-256 of no bytes, in base64; for an empty body this part may also be empty" : "SHA-256 of \(Digits.count(body.count, "byte")), in base64"),
            SignatureView.Part(name: "target", text: form.target, note: nil),
        ]
        func result(_ verdict: String?, _ tone: String, _ diagnosis: Diagnosis? = nil, remarks: [String] = []) -> SignatureView.Result {
            SignatureView.Result(
                verdict: verdict, tone: tone, diagnosis: diagnosis, isLaidOut: diagnosis?.message == nil, parts: parts,
                message: RequestSignature.message(date: date, body: body, target: form.target), remarks: remarks)
        }
        if form.keyID.isEmpty || form.signature.isEmpty {
            let missing = form.keyID.isEmpty && form.signature.isEmpty ? "a key ID and a signature" : form.keyID.isEmpty ? "a key ID" : "a signature"
            return result("There is no signature to check without \(missing). Below is the message to sign.", "plain")
        }
        let place = form.place ?? (visit.place.address.container, visit.place.address.environment)
        let request = SignedRequest(
            keyID: form.keyID, date: form.date, signature: form.signature, body: body, target: form.target, container: place.container,
            environment: place.environment)
        let accounts = visit.accounts
        let targets = Self.knownTargets(place.container)
        let verdict = try await WorkPool.prompt.run { accounts.verify(request, knownTargets: targets, now: now, isUse: false) }
        switch verdict {
        case .accepted(let key): return result("The signature is correct: the key ‘\(key.name)’ signed this message.", "good")
        case .refused(let problem) where problem.kind == .clock && problem.parts.contains { $0.name == "target" && $0.state == .matches }:
            return result(
                "The signature is correct, but its date is too old or in the future.", "plain", Diagnosis(problem),
                remarks: ["A request is accepted if its date is within \(RequestSignature.window / 60) minutes of this server's clock."])
        case .refused(let problem): return result(nil, "bad", Diagnosis(problem))
        }
    }

    /// Targets that the client may have intended.
    private static func knownTargets(_ container: ContainerID) -> [String] {
        let services = [
            "records/query", "records/modify", "records/lookup", "records/changes", "zones/list", "zones/lookup", "zones/modify", "changes/database",
            "changes/zone", "assets/upload", "assets/rereference", "users/caller", "users/current",
        ]
        return Records.Environment.allCases.flatMap { environment in
            DatabaseScope.allCases.flatMap { scope in
                services.map { "/database/1/\(container)/\(environment.rawValue)/\(scope.rawValue)/\($0)" }
            }
        }
    }
}
