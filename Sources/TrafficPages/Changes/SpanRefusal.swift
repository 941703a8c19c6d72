internal import Console

/// The reason why there can be no changes between two tokens, and advice.
struct SpanRefusal: ViewModel {
    let reason: String
    let advice: String
    let link: Frame.Link?

    init(_ reason: String, _ advice: String, link: Frame.Link? = nil) {
        self.reason = reason
        self.advice = advice
        self.link = link
    }
}
