/// The result of verifying the signature of a request.
public enum SignatureVerdict: Sendable, Hashable {
    case accepted(ServerKey)
    case refused(SignatureProblem)
}
