package images

// Limits are a provider's limits on images. Zero means no limit.
type Limits struct {
	// MaxSide limits width and height, in pixels.
	MaxSide int
	// ManySide replaces it in requests with more than Many images.
	Many, ManySide int
	// MaxBytes limits one image as base64, in bytes.
	MaxBytes int
}

// unknown has the limits of most servers, for those that do not document
// theirs.
var unknown = Limits{MaxSide: 8_000, MaxBytes: 5 << 20}

// limits are from the providers' documentation, as of 2026-11-21.
var limits = map[string]Limits{
	// https://docs.anthropic.com/en/docs/build-with-claude/vision
	"anthropic": {MaxSide: 8_000, Many: 20, ManySide: 2_000, MaxBytes: 5 << 20},
	"vertex_ai": {MaxSide: 8_000, Many: 20, ManySide: 2_000, MaxBytes: 5 << 20},
	// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html
	"bedrock": {MaxSide: 8_000, Many: 20, ManySide: 2_000, MaxBytes: 3_750_000 / 3 * 4},
	// https://platform.openai.com/docs/guides/images-vision
	"openai": {MaxSide: 8_000, MaxBytes: 20 << 20},
	"azure":  {MaxSide: 8_000, MaxBytes: 20 << 20},
	// https://ai.google.dev/gemini-api/docs/image-understanding
	"gemini": {MaxSide: 8_000, MaxBytes: 7 << 20},
	// https://console.groq.com/docs/vision
	"groq": {MaxSide: 5_000, MaxBytes: 4 << 20},
}

// LimitsOf returns the limits of a provider, by its name in llm.Info.
func LimitsOf(provider string) Limits {
	if l, ok := limits[provider]; ok {
		return l
	}
	return unknown
}

// side returns the limit of a side in a request with n images.
func (l Limits) side(n int) int {
	if l.Many > 0 && n > l.Many {
		return l.ManySide
	}
	return l.MaxSide
}
