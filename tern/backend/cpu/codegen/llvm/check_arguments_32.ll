; SPDX-License-Identifier: Apache-2.0
; Made of check_arguments.c by tools/make_linked_ir.sh.

%struct.TernAny = type { i32, i32, %union.anon }
%union.anon = type { i64 }
%union.TernSlot = type { i64 }
%struct.TernNumber = type { i64, i64 }
%struct.TernPair = type { i64, i64 }
%struct.TernChecked = type { ptr, ptr, ptr, ptr, i32 }
%struct.TernMessage = type { [16 x %struct.TernAny], i32 }

@.str = private unnamed_addr constant [12 x i8] c": expected \00", align 1
@.str.1 = private unnamed_addr constant [17 x i8] c" arguments, got \00", align 1
@.str.2 = private unnamed_addr constant [10 x i8] c"TypeError\00", align 1
@.str.3 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.4 = private unnamed_addr constant [11 x i8] c"ValueError\00", align 1
@.str.5 = private unnamed_addr constant [26 x i8] c", which the value fits in\00", align 1
@.str.6 = private unnamed_addr constant [12 x i8] c": argument \00", align 1
@.str.7 = private unnamed_addr constant [3 x i8] c" (\00", align 1
@.str.8 = private unnamed_addr constant [13 x i8] c"): expected \00", align 1
@.str.9 = private unnamed_addr constant [7 x i8] c", got \00", align 1
@.str.10 = private unnamed_addr constant [13 x i8] c"a tensor on \00", align 1
@.str.11 = private unnamed_addr constant [37 x i8] c"a tensor on the device of the others\00", align 1
@.str.12 = private unnamed_addr constant [17 x i8] c" tensor of rank \00", align 1
@.str.13 = private unnamed_addr constant [30 x i8] c"strides, got a tensor without\00", align 1
@.str.14 = private unnamed_addr constant [71 x i8] c"a tensor without byte offset (a kernel that is given as code takes it)\00", align 1
@.str.15 = private unnamed_addr constant [17 x i8] c"data aligned to \00", align 1
@.str.16 = private unnamed_addr constant [7 x i8] c" bytes\00", align 1
@.str.17 = private unnamed_addr constant [8 x i8] c"extent \00", align 1
@.str.18 = private unnamed_addr constant [8 x i8] c"stride \00", align 1
@.str.19 = private unnamed_addr constant [17 x i8] c"a compact tensor\00", align 1
@.str.20 = private unnamed_addr constant [8 x i8] c" to be \00", align 1
@.str.21 = private unnamed_addr constant [4 x i8] c" = \00", align 1
@.str.22 = private unnamed_addr constant [36 x i8] c"memory apart from that of argument \00", align 1
@.str.23 = private unnamed_addr constant [70 x i8] c"); a function with the attribute may_alias takes tensors that overlap\00", align 1

define hidden range(i32 -1, 1) i32 @tern_check_arguments(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef %5) local_unnamed_addr #0 {
  %7 = icmp eq i32 %5, 3
  br i1 %7, label %8, label %321

8:
  %9 = getelementptr inbounds nuw i8, ptr %4, i32 32
  %10 = load i64, ptr %9, align 8
  %11 = and i64 %10, 4
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %321, label %13

13:
  %14 = sext i32 %2 to i64
  %15 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %16 = load i64, ptr %15, align 8
  %17 = icmp eq i64 %16, %14
  br i1 %17, label %18, label %321

18:
  %19 = getelementptr inbounds nuw i8, ptr %4, i32 64
  %20 = getelementptr inbounds nuw i8, ptr %4, i32 48
  %21 = load i64, ptr %20, align 8
  %22 = trunc i64 %21 to i32
  %23 = getelementptr inbounds i64, ptr %19, i32 %22
  %24 = and i64 %10, 8
  %25 = icmp eq i64 %24, 0
  br i1 %25, label %84, label %26

26:
  %27 = icmp sgt i32 %2, 0
  br i1 %27, label %28, label %278

28:
  %29 = phi i64 [ %78, %77 ], [ %14, %26 ]
  %30 = phi i64 [ %79, %77 ], [ 0, %26 ]
  %31 = phi ptr [ %82, %77 ], [ %23, %26 ]
  %32 = getelementptr inbounds nuw i8, ptr %31, i32 24
  %33 = load i64, ptr %32, align 8
  switch i64 %33, label %44 [
    i64 5, label %77
    i64 1, label %34
    i64 0, label %39
  ]

34:
  %35 = trunc i64 %30 to i32
  %36 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %35
  %37 = load i32, ptr %36, align 8
  %38 = icmp eq i32 %37, 3
  br i1 %38, label %67, label %321

39:
  %40 = trunc i64 %30 to i32
  %41 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %40
  %42 = load i32, ptr %41, align 8
  %43 = icmp eq i32 %42, 4
  br i1 %43, label %67, label %321

44:
  %45 = trunc i64 %30 to i32
  %46 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %45
  %47 = load i32, ptr %46, align 8
  %48 = icmp eq i32 %47, 1
  br i1 %48, label %49, label %321

49:
  %50 = getelementptr inbounds nuw i8, ptr %31, i32 40
  %51 = load i64, ptr %50, align 8
  %52 = icmp sgt i64 %51, 63
  br i1 %52, label %67, label %53

53:
  switch i64 %33, label %60 [
    i64 4, label %67
    i64 2, label %54
  ]

54:
  %55 = getelementptr inbounds nuw i8, ptr %46, i32 8
  %56 = load i64, ptr %55, align 8
  %57 = add nsw i64 %51, -1
  %58 = shl nuw nsw i64 1, %57
  %59 = add i64 %56, %58
  br label %63

60:
  %61 = getelementptr inbounds nuw i8, ptr %46, i32 8
  %62 = load i64, ptr %61, align 8
  br label %63

63:
  %64 = phi i64 [ %59, %54 ], [ %62, %60 ]
  %65 = lshr i64 %64, %51
  %66 = icmp eq i64 %65, 0
  br i1 %66, label %67, label %321

67:
  %68 = phi i32 [ %45, %49 ], [ %45, %53 ], [ %45, %63 ], [ %40, %39 ], [ %35, %34 ]
  %69 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %68
  %70 = getelementptr inbounds nuw i8, ptr %69, i32 8
  %71 = load i64, ptr %70, align 8
  %72 = getelementptr inbounds nuw i8, ptr %31, i32 32
  %73 = load i64, ptr %72, align 8
  %74 = trunc i64 %73 to i32
  %75 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %74
  store i64 %71, ptr %75, align 8
  %76 = load i64, ptr %15, align 8
  br label %77

77:
  %78 = phi i64 [ %29, %28 ], [ %76, %67 ]
  %79 = add nuw nsw i64 %30, 1
  %80 = load i64, ptr %31, align 8
  %81 = trunc i64 %80 to i32
  %82 = getelementptr inbounds i64, ptr %31, i32 %81
  %83 = icmp slt i64 %79, %78
  br i1 %83, label %28, label %84

84:
  %85 = phi i64 [ %14, %18 ], [ %78, %77 ]
  %86 = icmp sgt i64 %85, 0
  br i1 %86, label %87, label %278

87:
  %88 = getelementptr inbounds nuw i8, ptr %4, i32 16
  %89 = getelementptr inbounds nuw i8, ptr %4, i32 40
  br label %90

90:
  %91 = phi i64 [ %85, %87 ], [ %268, %267 ]
  %92 = phi ptr [ %23, %87 ], [ %274, %267 ]
  %93 = phi i64 [ 0, %87 ], [ %270, %267 ]
  %94 = phi i64 [ 0, %87 ], [ %271, %267 ]
  %95 = phi i32 [ -1, %87 ], [ %269, %267 ]
  %96 = getelementptr inbounds nuw i8, ptr %92, i32 112
  %97 = getelementptr inbounds nuw i8, ptr %92, i32 32
  %98 = load i64, ptr %97, align 8
  %99 = trunc i64 %98 to i32
  %100 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %99
  %101 = getelementptr inbounds nuw i8, ptr %92, i32 88
  %102 = load i64, ptr %101, align 8
  %103 = getelementptr inbounds nuw i8, ptr %92, i32 24
  %104 = load i64, ptr %103, align 8
  %105 = icmp eq i64 %104, 5
  br i1 %105, label %106, label %267

106:
  %107 = trunc i64 %94 to i32
  %108 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %107
  %109 = load i32, ptr %108, align 8
  switch i32 %109, label %321 [
    i32 7, label %110
    i32 70, label %110
  ]

110:
  %111 = getelementptr inbounds nuw i8, ptr %108, i32 8
  %112 = load ptr, ptr %111, align 8
  %113 = icmp eq i32 %109, 70
  %114 = select i1 %113, i32 24, i32 0
  %115 = getelementptr inbounds nuw i8, ptr %112, i32 %114
  %116 = getelementptr inbounds nuw i8, ptr %115, i32 16
  %117 = load i32, ptr %116, align 8
  %118 = zext i32 %117 to i64
  %119 = getelementptr inbounds nuw i8, ptr %92, i32 40
  %120 = load i64, ptr %119, align 8
  %121 = icmp eq i64 %120, %118
  br i1 %121, label %122, label %321

122:
  %123 = getelementptr inbounds nuw i8, ptr %115, i32 12
  %124 = load i32, ptr %123, align 4
  %125 = sext i32 %124 to i64
  %126 = getelementptr inbounds nuw i8, ptr %92, i32 48
  %127 = load i64, ptr %126, align 8
  %128 = icmp eq i64 %127, %125
  br i1 %128, label %129, label %321

129:
  %130 = getelementptr inbounds nuw i8, ptr %115, i32 4
  %131 = load i32, ptr %130, align 4
  %132 = sext i32 %131 to i64
  %133 = load i64, ptr %88, align 8
  %134 = icmp eq i64 %133, %132
  br i1 %134, label %135, label %321

135:
  %136 = load i64, ptr %9, align 8
  %137 = and i64 %136, 2
  %138 = icmp eq i64 %137, 0
  br i1 %138, label %139, label %155

139:
  %140 = icmp slt i32 %95, 0
  br i1 %140, label %141, label %148

141:
  %142 = getelementptr inbounds nuw i8, ptr %115, i32 8
  %143 = load i32, ptr %142, align 8
  %144 = sext i32 %143 to i64
  %145 = load i64, ptr %89, align 8
  %146 = trunc i64 %145 to i32
  %147 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %146
  store i64 %144, ptr %147, align 8
  br label %148

148:
  %149 = phi i32 [ %143, %141 ], [ %95, %139 ]
  %150 = getelementptr inbounds nuw i8, ptr %115, i32 8
  %151 = load i32, ptr %150, align 8
  %152 = xor i32 %151, %149
  %153 = sext i32 %152 to i64
  %154 = or i64 %93, %153
  br label %155

155:
  %156 = phi i32 [ %95, %135 ], [ %149, %148 ]
  %157 = phi i64 [ %93, %135 ], [ %154, %148 ]
  %158 = getelementptr inbounds nuw i8, ptr %115, i32 20
  %159 = load ptr, ptr %158, align 4
  %160 = getelementptr inbounds nuw i8, ptr %92, i32 72
  %161 = load i64, ptr %160, align 8
  %162 = and i64 %161, 4
  %163 = icmp eq i64 %162, 0
  br i1 %163, label %180, label %164

164:
  %165 = load i64, ptr %126, align 8
  %166 = icmp sgt i64 %165, 0
  br i1 %166, label %167, label %215

167:
  %168 = phi i64 [ %177, %167 ], [ %157, %164 ]
  %169 = phi i64 [ %178, %167 ], [ 0, %164 ]
  %170 = trunc i64 %169 to i32
  %171 = getelementptr inbounds i64, ptr %159, i32 %170
  %172 = load i64, ptr %171, align 8
  %173 = getelementptr inbounds %struct.TernNumber, ptr %96, i32 %170
  %174 = getelementptr inbounds nuw i8, ptr %173, i32 8
  %175 = load i64, ptr %174, align 8
  %176 = xor i64 %175, %172
  %177 = or i64 %176, %168
  %178 = add nuw nsw i64 %169, 1
  %179 = icmp eq i64 %178, %165
  br i1 %179, label %215, label %167

180:
  %181 = getelementptr inbounds nuw i8, ptr %92, i32 64
  %182 = load i64, ptr %181, align 8
  %183 = load i64, ptr %126, align 8
  %184 = icmp sgt i64 %183, 0
  br i1 %184, label %185, label %215

185:
  %186 = phi i64 [ %210, %209 ], [ %183, %180 ]
  %187 = phi i64 [ %212, %209 ], [ %182, %180 ]
  %188 = phi i64 [ %211, %209 ], [ %157, %180 ]
  %189 = phi i64 [ %213, %209 ], [ 0, %180 ]
  %190 = trunc i64 %189 to i32
  %191 = getelementptr inbounds %struct.TernNumber, ptr %96, i32 %190
  %192 = load i64, ptr %191, align 8
  %193 = getelementptr inbounds nuw i8, ptr %191, i32 8
  %194 = load i64, ptr %193, align 8
  %195 = getelementptr inbounds i64, ptr %159, i32 %190
  %196 = load i64, ptr %195, align 8
  switch i64 %192, label %201 [
    i64 2, label %197
    i64 0, label %205
  ]

197:
  %198 = trunc i64 %194 to i32
  %199 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %198
  store i64 %196, ptr %199, align 8
  %200 = load i64, ptr %126, align 8
  br label %209

201:
  %202 = trunc i64 %194 to i32
  %203 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %202
  %204 = load i64, ptr %203, align 8
  br label %205

205:
  %206 = phi i64 [ %204, %201 ], [ %194, %185 ]
  %207 = xor i64 %206, %196
  %208 = or i64 %207, %188
  br label %209

209:
  %210 = phi i64 [ %200, %197 ], [ %186, %205 ]
  %211 = phi i64 [ %188, %197 ], [ %208, %205 ]
  %212 = mul nsw i64 %196, %187
  %213 = add nuw nsw i64 %189, 1
  %214 = icmp slt i64 %213, %210
  br i1 %214, label %185, label %215

215:
  %216 = phi i64 [ %211, %209 ], [ %157, %180 ], [ %157, %164 ], [ %177, %167 ]
  %217 = phi i64 [ %212, %209 ], [ %182, %180 ], [ %102, %164 ], [ %102, %167 ]
  %218 = getelementptr inbounds nuw i8, ptr %115, i32 24
  %219 = load ptr, ptr %218, align 8
  %220 = icmp eq ptr %219, null
  br i1 %220, label %250, label %221

221:
  %222 = load i32, ptr %123, align 4
  %223 = icmp sgt i32 %222, 0
  br i1 %223, label %224, label %250

224:
  %225 = zext nneg i32 %222 to i64
  %226 = load ptr, ptr %158, align 4
  br label %227

227:
  %228 = phi i64 [ %225, %224 ], [ %231, %241 ]
  %229 = phi i32 [ 1, %224 ], [ %243, %241 ]
  %230 = phi i64 [ 1, %224 ], [ %244, %241 ]
  %231 = add nsw i64 %228, -1
  %232 = trunc i64 %231 to i32
  %233 = getelementptr inbounds i64, ptr %226, i32 %232
  %234 = load i64, ptr %233, align 8
  %235 = icmp eq i64 %234, 1
  br i1 %235, label %241, label %236

236:
  %237 = getelementptr inbounds i64, ptr %219, i32 %232
  %238 = load i64, ptr %237, align 8
  %239 = icmp eq i64 %238, %230
  %240 = zext i1 %239 to i32
  br label %241

241:
  %242 = phi i32 [ 1, %227 ], [ %240, %236 ]
  %243 = and i32 %242, %229
  %244 = mul nsw i64 %234, %230
  %245 = icmp samesign ugt i64 %228, 1
  br i1 %245, label %227, label %246

246:
  %247 = icmp eq i32 %243, 0
  %248 = icmp ne i64 %244, 0
  %249 = select i1 %247, i1 %248, i1 false
  br i1 %249, label %321, label %250

250:
  %251 = load ptr, ptr %115, align 8
  %252 = getelementptr inbounds nuw i8, ptr %115, i32 32
  %253 = load i64, ptr %252, align 8
  %254 = trunc i64 %253 to i32
  %255 = getelementptr inbounds nuw i8, ptr %251, i32 %254
  store ptr %255, ptr %100, align 8
  %256 = ptrtoint ptr %255 to i32
  %257 = zext i32 %256 to i64
  %258 = getelementptr inbounds nuw i8, ptr %100, i32 8
  store i64 %257, ptr %258, align 8
  %259 = add nsw i64 %217, %257
  %260 = getelementptr inbounds nuw i8, ptr %100, i32 16
  store i64 %259, ptr %260, align 8
  %261 = getelementptr inbounds nuw i8, ptr %92, i32 56
  %262 = load i64, ptr %261, align 8
  %263 = add i64 %262, 4294967295
  %264 = and i64 %263, %257
  %265 = or i64 %264, %216
  %266 = load i64, ptr %15, align 8
  br label %267

267:
  %268 = phi i64 [ %266, %250 ], [ %91, %90 ]
  %269 = phi i32 [ %156, %250 ], [ %95, %90 ]
  %270 = phi i64 [ %265, %250 ], [ %93, %90 ]
  %271 = add nuw nsw i64 %94, 1
  %272 = load i64, ptr %92, align 8
  %273 = trunc i64 %272 to i32
  %274 = getelementptr inbounds i64, ptr %92, i32 %273
  %275 = icmp slt i64 %271, %268
  br i1 %275, label %90, label %276

276:
  %277 = icmp eq i64 %270, 0
  br i1 %277, label %278, label %321

278:
  %279 = phi ptr [ %274, %276 ], [ %23, %84 ], [ %23, %26 ]
  %280 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %281 = load i64, ptr %280, align 8
  %282 = icmp sgt i64 %281, 0
  br i1 %282, label %283, label %323

283:
  %284 = load i64, ptr %9, align 8
  %285 = and i64 %284, 1
  %286 = icmp eq i64 %285, 0
  br label %287

287:
  %288 = phi i64 [ 0, %283 ], [ %319, %318 ]
  %289 = trunc i64 %288 to i32
  %290 = getelementptr inbounds %struct.TernPair, ptr %279, i32 %289
  %291 = load i64, ptr %290, align 8
  %292 = trunc i64 %291 to i32
  %293 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %292
  %294 = getelementptr inbounds nuw i8, ptr %290, i32 8
  %295 = load i64, ptr %294, align 8
  %296 = trunc i64 %295 to i32
  %297 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %296
  %298 = getelementptr inbounds nuw i8, ptr %293, i32 8
  %299 = load i64, ptr %298, align 8
  %300 = getelementptr inbounds nuw i8, ptr %293, i32 16
  %301 = load i64, ptr %300, align 8
  %302 = getelementptr inbounds nuw i8, ptr %297, i32 8
  %303 = load i64, ptr %302, align 8
  %304 = getelementptr inbounds nuw i8, ptr %297, i32 16
  %305 = load i64, ptr %304, align 8
  br i1 %286, label %306, label %310

306:
  %307 = load ptr, ptr %293, align 8
  %308 = load ptr, ptr %297, align 8
  %309 = icmp eq ptr %307, %308
  br i1 %309, label %310, label %318

310:
  %311 = icmp ugt i64 %301, %303
  %312 = icmp ugt i64 %305, %299
  %313 = select i1 %311, i1 %312, i1 false
  %314 = icmp ne i64 %299, %301
  %315 = select i1 %313, i1 %314, i1 false
  %316 = icmp ne i64 %303, %305
  %317 = select i1 %315, i1 %316, i1 false
  br i1 %317, label %321, label %318

318:
  %319 = add nuw nsw i64 %288, 1
  %320 = icmp eq i64 %319, %281
  br i1 %320, label %323, label %287

321:
  %322 = tail call fastcc i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef %3, ptr noundef %4, i32 noundef %5) #7
  br label %323

323:
  %324 = phi i32 [ %322, %321 ], [ 0, %278 ], [ 0, %318 ]
  ret i32 %324
}

declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

define internal fastcc range(i32 -1, 1) i32 @tern_check_in_order(ptr noundef %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3, ptr noundef %4, i32 noundef %5) unnamed_addr #2 {
  %7 = alloca %struct.TernChecked, align 4
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #8
  store ptr %0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %7, i32 4
  store ptr %4, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i32 8
  store ptr null, ptr %9, align 4
  %10 = getelementptr inbounds nuw i8, ptr %7, i32 12
  store ptr null, ptr %10, align 4
  %11 = getelementptr inbounds nuw i8, ptr %7, i32 16
  store i32 0, ptr %11, align 4
  %12 = and i32 %5, 1
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %29, label %14

14:
  %15 = sext i32 %2 to i64
  %16 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %17 = load i64, ptr %16, align 8
  %18 = icmp eq i64 %17, %15
  br i1 %18, label %20, label %19

19:
  call fastcc void @tern_expected_arguments(ptr noundef %7, i64 noundef %15) #7
  br label %127

20:
  %21 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 0) #9
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %127

23:
  %24 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 1) #9
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %26, label %127

26:
  %27 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 2) #9
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %29, label %127

29:
  %30 = and i32 %5, 2
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %127, label %32

32:
  %33 = call fastcc i32 @tern_check_all(ptr noundef %7, ptr noundef %1, ptr noundef %3, i32 noundef 3) #9
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %35, label %127

35:
  %36 = getelementptr inbounds nuw i8, ptr %4, i32 64
  %37 = getelementptr inbounds nuw i8, ptr %4, i32 48
  %38 = load i64, ptr %37, align 8
  %39 = trunc i64 %38 to i32
  %40 = getelementptr inbounds i64, ptr %36, i32 %39
  %41 = getelementptr inbounds nuw i8, ptr %4, i32 8
  %42 = load i64, ptr %41, align 8
  %43 = icmp sgt i64 %42, 0
  br i1 %43, label %44, label %52

44:
  %45 = phi i64 [ %50, %44 ], [ 0, %35 ]
  %46 = phi ptr [ %49, %44 ], [ %40, %35 ]
  %47 = load i64, ptr %46, align 8
  %48 = trunc i64 %47 to i32
  %49 = getelementptr inbounds i64, ptr %46, i32 %48
  %50 = add nuw nsw i64 %45, 1
  %51 = icmp eq i64 %50, %42
  br i1 %51, label %52, label %44

52:
  %53 = phi ptr [ %40, %35 ], [ %49, %44 ]
  %54 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %55 = load i64, ptr %54, align 8
  %56 = icmp sgt i64 %55, 0
  br i1 %56, label %57, label %127

57:
  %58 = getelementptr inbounds nuw i8, ptr %4, i32 32
  %59 = load i64, ptr %58, align 8
  %60 = and i64 %59, 1
  %61 = icmp eq i64 %60, 0
  br label %62

62:
  %63 = phi i64 [ 0, %57 ], [ %94, %93 ]
  %64 = trunc i64 %63 to i32
  %65 = getelementptr inbounds %struct.TernPair, ptr %53, i32 %64
  %66 = load i64, ptr %65, align 8
  %67 = trunc i64 %66 to i32
  %68 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %67
  %69 = getelementptr inbounds nuw i8, ptr %65, i32 8
  %70 = load i64, ptr %69, align 8
  %71 = trunc i64 %70 to i32
  %72 = getelementptr inbounds %union.TernSlot, ptr %3, i32 %71
  %73 = getelementptr inbounds nuw i8, ptr %68, i32 8
  %74 = load i64, ptr %73, align 8
  %75 = getelementptr inbounds nuw i8, ptr %68, i32 16
  %76 = load i64, ptr %75, align 8
  %77 = getelementptr inbounds nuw i8, ptr %72, i32 8
  %78 = load i64, ptr %77, align 8
  %79 = getelementptr inbounds nuw i8, ptr %72, i32 16
  %80 = load i64, ptr %79, align 8
  br i1 %61, label %81, label %85

81:
  %82 = load ptr, ptr %68, align 8
  %83 = load ptr, ptr %72, align 8
  %84 = icmp eq ptr %82, %83
  br i1 %84, label %85, label %93

85:
  %86 = icmp ugt i64 %76, %78
  %87 = icmp ugt i64 %80, %74
  %88 = select i1 %86, i1 %87, i1 false
  %89 = icmp ne i64 %74, %76
  %90 = select i1 %88, i1 %89, i1 false
  %91 = icmp ne i64 %78, %80
  %92 = select i1 %90, i1 %91, i1 false
  br i1 %92, label %96, label %93

93:
  %94 = add nuw nsw i64 %63, 1
  %95 = icmp eq i64 %94, %55
  br i1 %95, label %127, label %62

96:
  %97 = getelementptr inbounds nuw i8, ptr %40, i32 32
  %98 = load i64, ptr %97, align 8
  %99 = icmp eq i64 %98, %66
  br i1 %99, label %110, label %100

100:
  %101 = phi ptr [ %105, %100 ], [ %40, %96 ]
  %102 = phi i32 [ %106, %100 ], [ 0, %96 ]
  %103 = load i64, ptr %101, align 8
  %104 = trunc i64 %103 to i32
  %105 = getelementptr inbounds i64, ptr %101, i32 %104
  %106 = add nuw nsw i32 %102, 1
  %107 = getelementptr inbounds nuw i8, ptr %105, i32 32
  %108 = load i64, ptr %107, align 8
  %109 = icmp eq i64 %108, %66
  br i1 %109, label %110, label %100

110:
  %111 = phi i32 [ 0, %96 ], [ %106, %100 ]
  %112 = phi ptr [ %40, %96 ], [ %105, %100 ]
  store i32 0, ptr %11, align 4
  %113 = icmp eq i64 %98, %70
  br i1 %113, label %125, label %114

114:
  %115 = phi ptr [ %119, %114 ], [ %40, %110 ]
  %116 = phi i32 [ %120, %114 ], [ 0, %110 ]
  %117 = load i64, ptr %115, align 8
  %118 = trunc i64 %117 to i32
  %119 = getelementptr inbounds i64, ptr %115, i32 %118
  %120 = add nuw nsw i32 %116, 1
  %121 = getelementptr inbounds nuw i8, ptr %119, i32 32
  %122 = load i64, ptr %121, align 8
  %123 = icmp eq i64 %122, %70
  br i1 %123, label %124, label %114

124:
  store i32 %120, ptr %11, align 4
  br label %125

125:
  %126 = phi ptr [ %40, %110 ], [ %119, %124 ]
  store ptr %126, ptr %9, align 4
  call fastcc void @tern_expected_apart(ptr noundef %7, ptr noundef nonnull %112, i32 noundef %111) #7
  br label %127

127:
  %128 = phi i32 [ -1, %19 ], [ -1, %20 ], [ 0, %29 ], [ -1, %125 ], [ -1, %32 ], [ -1, %26 ], [ -1, %23 ], [ 0, %52 ], [ 0, %93 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #8
  ret i32 %128
}

declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

define internal fastcc void @tern_expected_arguments(ptr noundef nonnull readonly captures(none) %0, i64 noundef range(i64 -2147483648, 2147483648) %1) unnamed_addr #2 {
  %3 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #8
  %4 = getelementptr inbounds nuw i8, ptr %3, i32 256
  store i32 0, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %6 = load ptr, ptr %5, align 4
  %7 = load i64, ptr %6, align 8
  %8 = trunc i64 %7 to i32
  %9 = getelementptr inbounds i8, ptr %6, i32 %8
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull %9) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str) #7
  %10 = load ptr, ptr %5, align 4
  %11 = getelementptr inbounds nuw i8, ptr %10, i32 8
  %12 = load i64, ptr %11, align 8
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %12) #7
  call fastcc void @tern_add_text(ptr noundef %3, ptr noundef nonnull @.str.1) #7
  call fastcc void @tern_add_number(ptr noundef %3, i64 noundef %1) #7
  %13 = load ptr, ptr %0, align 4
  %14 = getelementptr inbounds nuw i8, ptr %13, i32 12
  %15 = load ptr, ptr %14, align 4
  %16 = load i32, ptr %4, align 8
  call void %15(ptr noundef %13, ptr noundef nonnull @.str.2, ptr noundef nonnull %3, i32 noundef %16) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #8
  ret void
}

define internal fastcc range(i32 -1, 1) i32 @tern_check_all(ptr noundef nonnull captures(none) initializes((8, 12), (16, 20)) %0, ptr noundef %1, ptr noundef captures(none) %2, i32 noundef range(i32 0, 4) %3) unnamed_addr #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %6 = load ptr, ptr %5, align 4
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 64
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 48
  %9 = load i64, ptr %8, align 8
  %10 = trunc i64 %9 to i32
  %11 = getelementptr inbounds i64, ptr %7, i32 %10
  %12 = getelementptr inbounds nuw i8, ptr %0, i32 8
  store ptr %11, ptr %12, align 4
  %13 = getelementptr inbounds nuw i8, ptr %0, i32 16
  store i32 0, ptr %13, align 4
  %14 = getelementptr inbounds nuw i8, ptr %6, i32 8
  %15 = load i64, ptr %14, align 8
  %16 = icmp sgt i64 %15, 0
  br i1 %16, label %17, label %433

17:
  %18 = getelementptr inbounds nuw i8, ptr %0, i32 12
  %19 = icmp eq i32 %3, 0
  br label %20

20:
  %21 = phi ptr [ %11, %17 ], [ %425, %420 ]
  %22 = phi ptr [ %6, %17 ], [ %429, %420 ]
  %23 = phi i32 [ 1, %17 ], [ %421, %420 ]
  %24 = phi i32 [ 0, %17 ], [ %427, %420 ]
  %25 = getelementptr inbounds nuw i8, ptr %21, i32 24
  %26 = load i64, ptr %25, align 8
  %27 = icmp eq i64 %26, 5
  %28 = getelementptr inbounds %struct.TernAny, ptr %1, i32 %24
  store ptr %28, ptr %18, align 4
  br i1 %19, label %29, label %88

29:
  br i1 %27, label %420, label %30

30:
  %31 = getelementptr inbounds nuw i8, ptr %21, i32 16
  %32 = load i64, ptr %31, align 8
  %33 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %34 = load i64, ptr %33, align 8
  %35 = trunc i64 %34 to i32
  %36 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %35
  %37 = load i32, ptr %28, align 8
  %38 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %39 = load i64, ptr %38, align 8
  %40 = load i64, ptr %25, align 8
  %41 = bitcast i64 %39 to double
  %42 = trunc i64 %39 to i32
  %43 = inttoptr i32 %42 to ptr
  switch i64 %40, label %61 [
    i64 0, label %44
    i64 1, label %49
  ]

44:
  switch i32 %37, label %45 [
    i32 4, label %48
    i32 0, label %48
  ]

45:
  %46 = trunc i64 %32 to i32
  %47 = getelementptr inbounds i8, ptr %22, i32 %46
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %47, ptr noundef nonnull @.str.3) #7
  br label %433

48:
  store ptr %43, ptr %36, align 8
  br label %420

49:
  %50 = add i32 %37, -1
  %51 = icmp ult i32 %50, 2
  br i1 %51, label %57, label %52

52:
  %53 = icmp eq i32 %37, 3
  br i1 %53, label %59, label %54

54:
  %55 = trunc i64 %32 to i32
  %56 = getelementptr inbounds i8, ptr %22, i32 %55
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %56, ptr noundef nonnull @.str.3) #7
  br label %433

57:
  %58 = sitofp i64 %39 to double
  br label %59

59:
  %60 = phi double [ %58, %57 ], [ %41, %52 ]
  store double %60, ptr %36, align 8
  br label %420

61:
  %62 = add i32 %37, -1
  %63 = icmp ult i32 %62, 2
  br i1 %63, label %67, label %64

64:
  %65 = trunc i64 %32 to i32
  %66 = getelementptr inbounds i8, ptr %22, i32 %65
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.2, ptr noundef %66, ptr noundef nonnull @.str.3) #7
  br label %433

67:
  store i64 %39, ptr %36, align 8
  %68 = getelementptr inbounds nuw i8, ptr %21, i32 40
  %69 = load i64, ptr %68, align 8
  %70 = icmp sgt i64 %69, 63
  br i1 %70, label %420, label %71

71:
  %72 = load i64, ptr %25, align 8
  switch i64 %72, label %80 [
    i64 4, label %420
    i64 2, label %73
  ]

73:
  %74 = add nsw i64 %69, -1
  %75 = shl nuw nsw i64 1, %74
  %76 = sub nsw i64 0, %75
  %77 = icmp sge i64 %39, %76
  %78 = icmp slt i64 %39, %75
  %79 = and i1 %77, %78
  br i1 %79, label %420, label %85

80:
  %81 = icmp sgt i64 %39, -1
  %82 = shl nuw i64 1, %69
  %83 = icmp slt i64 %39, %82
  %84 = select i1 %81, i1 %83, i1 false
  br i1 %84, label %420, label %85

85:
  %86 = trunc i64 %32 to i32
  %87 = getelementptr inbounds i8, ptr %22, i32 %86
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef %87, ptr noundef nonnull @.str.5) #7
  br label %433

88:
  br i1 %27, label %89, label %420

89:
  switch i32 %3, label %246 [
    i32 1, label %90
    i32 2, label %198
  ]

90:
  %91 = load i32, ptr %28, align 8
  switch i32 %91, label %92 [
    i32 7, label %93
    i32 70, label %93
  ]

92:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %433

93:
  %94 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %95 = load ptr, ptr %94, align 8
  %96 = icmp eq i32 %91, 70
  %97 = select i1 %96, i32 24, i32 0
  %98 = getelementptr inbounds nuw i8, ptr %95, i32 %97
  %99 = getelementptr inbounds nuw i8, ptr %98, i32 16
  %100 = load i32, ptr %99, align 8
  %101 = zext i32 %100 to i64
  %102 = getelementptr inbounds nuw i8, ptr %21, i32 40
  %103 = load i64, ptr %102, align 8
  %104 = icmp eq i64 %103, %101
  br i1 %104, label %105, label %112

105:
  %106 = getelementptr inbounds nuw i8, ptr %98, i32 12
  %107 = load i32, ptr %106, align 4
  %108 = sext i32 %107 to i64
  %109 = getelementptr inbounds nuw i8, ptr %21, i32 48
  %110 = load i64, ptr %109, align 8
  %111 = icmp eq i64 %110, %108
  br i1 %111, label %113, label %112

112:
  tail call fastcc void @tern_expected_tensor(ptr noundef nonnull readonly %0) #7
  br label %433

113:
  %114 = getelementptr inbounds nuw i8, ptr %98, i32 4
  %115 = load i32, ptr %114, align 4
  %116 = sext i32 %115 to i64
  %117 = getelementptr inbounds nuw i8, ptr %22, i32 16
  %118 = load i64, ptr %117, align 8
  %119 = icmp eq i64 %118, %116
  br i1 %119, label %125, label %120

120:
  %121 = getelementptr inbounds nuw i8, ptr %22, i32 24
  %122 = load i64, ptr %121, align 8
  %123 = trunc i64 %122 to i32
  %124 = getelementptr inbounds i8, ptr %22, i32 %123
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.10, ptr noundef %124) #7
  br label %433

125:
  %126 = getelementptr inbounds nuw i8, ptr %22, i32 32
  %127 = load i64, ptr %126, align 8
  %128 = and i64 %127, 2
  %129 = icmp eq i64 %128, 0
  br i1 %129, label %130, label %145

130:
  %131 = icmp eq i32 %23, 0
  %132 = getelementptr inbounds nuw i8, ptr %98, i32 8
  %133 = load i32, ptr %132, align 8
  %134 = sext i32 %133 to i64
  %135 = getelementptr inbounds nuw i8, ptr %22, i32 40
  %136 = load i64, ptr %135, align 8
  %137 = trunc i64 %136 to i32
  %138 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %137
  br i1 %131, label %141, label %139

139:
  store i64 %134, ptr %138, align 8
  %140 = load i64, ptr %109, align 8
  br label %145

141:
  %142 = load i64, ptr %138, align 8
  %143 = icmp eq i64 %142, %134
  br i1 %143, label %145, label %144

144:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.11, ptr noundef nonnull @.str.3) #7
  br label %433

145:
  %146 = phi i64 [ %140, %139 ], [ %108, %141 ], [ %108, %125 ]
  %147 = getelementptr inbounds nuw i8, ptr %21, i32 112
  %148 = getelementptr inbounds nuw i8, ptr %98, i32 20
  %149 = load ptr, ptr %148, align 4
  %150 = icmp sgt i64 %146, 0
  br i1 %150, label %151, label %167

151:
  %152 = phi i64 [ %165, %164 ], [ 0, %145 ]
  %153 = trunc i64 %152 to i32
  %154 = getelementptr inbounds %struct.TernNumber, ptr %147, i32 %153
  %155 = load i64, ptr %154, align 8
  %156 = icmp eq i64 %155, 2
  br i1 %156, label %157, label %164

157:
  %158 = getelementptr inbounds i64, ptr %149, i32 %153
  %159 = load i64, ptr %158, align 8
  %160 = getelementptr inbounds nuw i8, ptr %154, i32 8
  %161 = load i64, ptr %160, align 8
  %162 = trunc i64 %161 to i32
  %163 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %162
  store i64 %159, ptr %163, align 8
  br label %164

164:
  %165 = add nuw nsw i64 %152, 1
  %166 = icmp eq i64 %165, %146
  br i1 %166, label %167, label %151

167:
  %168 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %169 = load i64, ptr %168, align 8
  %170 = and i64 %169, 1
  %171 = icmp eq i64 %170, 0
  br i1 %171, label %420, label %172

172:
  %173 = getelementptr inbounds nuw i8, ptr %98, i32 24
  %174 = load ptr, ptr %173, align 8
  %175 = icmp eq ptr %174, null
  br i1 %175, label %176, label %177

176:
  tail call fastcc void @tern_expected_strides(ptr noundef nonnull readonly %0) #7
  br label %433

177:
  %178 = load i64, ptr %109, align 8
  %179 = trunc i64 %178 to i32
  %180 = getelementptr inbounds %struct.TernNumber, ptr %147, i32 %179
  %181 = icmp sgt i64 %178, 0
  br i1 %181, label %182, label %420

182:
  %183 = phi i64 [ %196, %195 ], [ 0, %177 ]
  %184 = trunc i64 %183 to i32
  %185 = getelementptr inbounds %struct.TernNumber, ptr %180, i32 %184
  %186 = load i64, ptr %185, align 8
  %187 = icmp eq i64 %186, 2
  br i1 %187, label %188, label %195

188:
  %189 = getelementptr inbounds i64, ptr %174, i32 %184
  %190 = load i64, ptr %189, align 8
  %191 = getelementptr inbounds nuw i8, ptr %185, i32 8
  %192 = load i64, ptr %191, align 8
  %193 = trunc i64 %192 to i32
  %194 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %193
  store i64 %190, ptr %194, align 8
  br label %195

195:
  %196 = add nuw nsw i64 %183, 1
  %197 = icmp eq i64 %196, %178
  br i1 %197, label %420, label %182

198:
  %199 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %200 = load ptr, ptr %199, align 8
  %201 = load i32, ptr %28, align 8
  %202 = icmp eq i32 %201, 70
  %203 = select i1 %202, i32 24, i32 0
  %204 = getelementptr inbounds nuw i8, ptr %200, i32 %203
  %205 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %206 = load i64, ptr %205, align 8
  %207 = trunc i64 %206 to i32
  %208 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %207
  %209 = getelementptr inbounds nuw i8, ptr %22, i32 32
  %210 = load i64, ptr %209, align 8
  %211 = and i64 %210, 1
  %212 = icmp eq i64 %211, 0
  %213 = getelementptr inbounds nuw i8, ptr %204, i32 32
  %214 = load i64, ptr %213, align 8
  %215 = getelementptr inbounds nuw i8, ptr %21, i32 56
  %216 = load i64, ptr %215, align 8
  %217 = load ptr, ptr %204, align 8
  br i1 %212, label %225, label %218

218:
  %219 = trunc i64 %214 to i32
  %220 = getelementptr inbounds nuw i8, ptr %217, i32 %219
  store ptr %220, ptr %208, align 8
  %221 = ptrtoint ptr %220 to i32
  %222 = zext i32 %221 to i64
  %223 = sub i64 0, %216
  %224 = and i64 %216, %223
  br label %238

225:
  store ptr %217, ptr %208, align 8
  %226 = load i64, ptr %213, align 8
  %227 = getelementptr inbounds nuw i8, ptr %21, i32 80
  %228 = load i64, ptr %227, align 8
  %229 = trunc i64 %228 to i32
  %230 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %229
  store i64 %226, ptr %230, align 8
  %231 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %232 = load i64, ptr %231, align 8
  %233 = and i64 %232, 2
  %234 = icmp eq i64 %233, 0
  %235 = icmp eq i64 %226, 0
  %236 = select i1 %234, i1 true, i1 %235
  br i1 %236, label %238, label %237

237:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.14, ptr noundef nonnull @.str.3) #7
  br label %433

238:
  %239 = phi i64 [ %222, %218 ], [ %214, %225 ]
  %240 = phi i64 [ %224, %218 ], [ %216, %225 ]
  %241 = urem i64 %239, %240
  %242 = icmp eq i64 %241, 0
  br i1 %242, label %244, label %243

243:
  tail call fastcc void @tern_expected_aligned(ptr noundef nonnull readonly %0) #7
  br label %433

244:
  %245 = getelementptr inbounds nuw i8, ptr %208, i32 8
  store i64 %239, ptr %245, align 8
  br label %420

246:
  %247 = getelementptr inbounds nuw i8, ptr %28, i32 8
  %248 = load ptr, ptr %247, align 8
  %249 = load i32, ptr %28, align 8
  %250 = icmp eq i32 %249, 70
  %251 = select i1 %250, i32 24, i32 0
  %252 = getelementptr inbounds nuw i8, ptr %248, i32 %251
  %253 = getelementptr inbounds nuw i8, ptr %21, i32 112
  %254 = getelementptr inbounds nuw i8, ptr %21, i32 48
  %255 = load i64, ptr %254, align 8
  %256 = trunc i64 %255 to i32
  %257 = getelementptr inbounds %struct.TernNumber, ptr %253, i32 %256
  %258 = icmp sgt i64 %255, 0
  br i1 %258, label %259, label %288

259:
  %260 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %261 = load ptr, ptr %260, align 4
  br label %262

262:
  %263 = phi i64 [ 0, %259 ], [ %281, %280 ]
  %264 = trunc i64 %263 to i32
  %265 = getelementptr inbounds %struct.TernNumber, ptr %253, i32 %264
  %266 = load i64, ptr %265, align 8
  %267 = icmp eq i64 %266, 0
  %268 = getelementptr inbounds nuw i8, ptr %265, i32 8
  br i1 %267, label %273, label %269

269:
  %270 = load i64, ptr %268, align 8
  %271 = trunc i64 %270 to i32
  %272 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %271
  br label %273

273:
  %274 = phi ptr [ %272, %269 ], [ %268, %262 ]
  %275 = load i64, ptr %274, align 8
  %276 = getelementptr inbounds i64, ptr %261, i32 %264
  %277 = load i64, ptr %276, align 8
  %278 = icmp eq i64 %277, %275
  br i1 %278, label %280, label %279

279:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.17, i64 noundef %263, ptr noundef nonnull %265, i64 noundef %275) #7
  br label %433

280:
  %281 = add nuw nsw i64 %263, 1
  %282 = icmp eq i64 %281, %255
  br i1 %282, label %283, label %262

283:
  %284 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %285 = load i64, ptr %284, align 8
  %286 = and i64 %285, 1
  %287 = icmp eq i64 %286, 0
  br i1 %287, label %317, label %293

288:
  %289 = getelementptr inbounds nuw i8, ptr %21, i32 72
  %290 = load i64, ptr %289, align 8
  %291 = and i64 %290, 1
  %292 = icmp eq i64 %291, 0
  br i1 %292, label %317, label %353

293:
  %294 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %295 = load ptr, ptr %294, align 8
  br label %296

296:
  %297 = phi i64 [ 0, %293 ], [ %315, %314 ]
  %298 = trunc i64 %297 to i32
  %299 = getelementptr inbounds %struct.TernNumber, ptr %257, i32 %298
  %300 = load i64, ptr %299, align 8
  %301 = icmp eq i64 %300, 0
  %302 = getelementptr inbounds nuw i8, ptr %299, i32 8
  br i1 %301, label %307, label %303

303:
  %304 = load i64, ptr %302, align 8
  %305 = trunc i64 %304 to i32
  %306 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %305
  br label %307

307:
  %308 = phi ptr [ %306, %303 ], [ %302, %296 ]
  %309 = load i64, ptr %308, align 8
  %310 = getelementptr inbounds i64, ptr %295, i32 %298
  %311 = load i64, ptr %310, align 8
  %312 = icmp eq i64 %311, %309
  br i1 %312, label %314, label %313

313:
  tail call fastcc void @tern_expected_number(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.18, i64 noundef %297, ptr noundef nonnull %299, i64 noundef %309) #7
  br label %433

314:
  %315 = add nuw nsw i64 %297, 1
  %316 = icmp eq i64 %315, %255
  br i1 %316, label %353, label %296

317:
  %318 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %319 = load ptr, ptr %318, align 8
  %320 = icmp eq ptr %319, null
  br i1 %320, label %353, label %321

321:
  %322 = getelementptr inbounds nuw i8, ptr %252, i32 12
  %323 = load i32, ptr %322, align 4
  %324 = icmp sgt i32 %323, 0
  br i1 %324, label %325, label %353

325:
  %326 = zext nneg i32 %323 to i64
  %327 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %328 = load ptr, ptr %327, align 4
  br label %329

329:
  %330 = phi i64 [ %326, %325 ], [ %333, %343 ]
  %331 = phi i32 [ 1, %325 ], [ %345, %343 ]
  %332 = phi i64 [ 1, %325 ], [ %346, %343 ]
  %333 = add nsw i64 %330, -1
  %334 = trunc i64 %333 to i32
  %335 = getelementptr inbounds i64, ptr %328, i32 %334
  %336 = load i64, ptr %335, align 8
  %337 = icmp eq i64 %336, 1
  br i1 %337, label %343, label %338

338:
  %339 = getelementptr inbounds i64, ptr %319, i32 %334
  %340 = load i64, ptr %339, align 8
  %341 = icmp eq i64 %340, %332
  %342 = zext i1 %341 to i32
  br label %343

343:
  %344 = phi i32 [ 1, %329 ], [ %342, %338 ]
  %345 = and i32 %344, %331
  %346 = mul nsw i64 %336, %332
  %347 = icmp samesign ugt i64 %330, 1
  br i1 %347, label %329, label %348

348:
  %349 = icmp eq i32 %345, 0
  %350 = icmp ne i64 %346, 0
  %351 = select i1 %349, i1 %350, i1 false
  br i1 %351, label %352, label %353

352:
  tail call fastcc void @tern_expected(ptr noundef nonnull readonly %0, ptr noundef nonnull @.str.4, ptr noundef nonnull @.str.19, ptr noundef nonnull @.str.3) #7
  br label %433

353:
  %354 = phi i1 [ false, %288 ], [ true, %348 ], [ true, %321 ], [ true, %317 ], [ false, %314 ]
  %355 = getelementptr inbounds nuw i8, ptr %21, i32 96
  %356 = load i64, ptr %355, align 8
  %357 = icmp eq i64 %356, 0
  %358 = getelementptr inbounds nuw i8, ptr %21, i32 104
  br i1 %357, label %363, label %359

359:
  %360 = load i64, ptr %358, align 8
  %361 = trunc i64 %360 to i32
  %362 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %361
  br label %363

363:
  %364 = phi ptr [ %362, %359 ], [ %358, %353 ]
  %365 = load i64, ptr %364, align 8
  %366 = getelementptr inbounds nuw i8, ptr %21, i32 32
  %367 = load i64, ptr %366, align 8
  br i1 %258, label %368, label %405

368:
  %369 = getelementptr inbounds nuw i8, ptr %252, i32 20
  %370 = load ptr, ptr %369, align 4
  br label %371

371:
  %372 = phi i64 [ 0, %368 ], [ %379, %371 ]
  %373 = phi i64 [ 1, %368 ], [ %378, %371 ]
  %374 = trunc i64 %372 to i32
  %375 = getelementptr inbounds i64, ptr %370, i32 %374
  %376 = load i64, ptr %375, align 8
  %377 = freeze i64 %376
  %378 = mul i64 %377, %373
  %379 = add nuw nsw i64 %372, 1
  %380 = icmp eq i64 %379, %255
  br i1 %380, label %381, label %371

381:
  br i1 %354, label %405, label %382

382:
  %383 = getelementptr inbounds nuw i8, ptr %252, i32 24
  %384 = load ptr, ptr %383, align 8
  br label %385

385:
  %386 = phi i64 [ 0, %382 ], [ %400, %385 ]
  %387 = phi i64 [ 1, %382 ], [ %399, %385 ]
  %388 = phi i64 [ %365, %382 ], [ %397, %385 ]
  %389 = trunc i64 %386 to i32
  %390 = getelementptr inbounds i64, ptr %370, i32 %389
  %391 = load i64, ptr %390, align 8
  %392 = add nsw i64 %391, -1
  %393 = getelementptr inbounds i64, ptr %384, i32 %389
  %394 = load i64, ptr %393, align 8
  %395 = mul nsw i64 %394, %392
  %396 = tail call i64 @llvm.smin.i64(i64 %395, i64 0)
  %397 = add nsw i64 %396, %388
  %398 = tail call i64 @llvm.abs.i64(i64 %395, i1 true)
  %399 = add nuw nsw i64 %398, %387
  %400 = add nuw nsw i64 %386, 1
  %401 = icmp eq i64 %400, %255
  br i1 %401, label %402, label %385

402:
  %403 = icmp eq i64 %378, 0
  %404 = select i1 %403, i64 0, i64 %399
  br label %405

405:
  %406 = phi i64 [ %365, %381 ], [ %397, %402 ], [ %365, %363 ]
  %407 = phi i64 [ %378, %381 ], [ %404, %402 ], [ 1, %363 ]
  %408 = trunc i64 %367 to i32
  %409 = getelementptr inbounds %union.TernSlot, ptr %2, i32 %408
  %410 = getelementptr inbounds nuw i8, ptr %21, i32 64
  %411 = load i64, ptr %410, align 8
  %412 = mul nsw i64 %411, %406
  %413 = getelementptr inbounds nuw i8, ptr %409, i32 8
  %414 = load i64, ptr %413, align 8
  %415 = add nsw i64 %414, %412
  store i64 %415, ptr %413, align 8
  %416 = load i64, ptr %410, align 8
  %417 = mul nsw i64 %416, %407
  %418 = add nsw i64 %417, %415
  %419 = getelementptr inbounds nuw i8, ptr %409, i32 16
  store i64 %418, ptr %419, align 8
  br label %420

420:
  %421 = phi i32 [ %23, %29 ], [ %23, %80 ], [ %23, %88 ], [ %23, %73 ], [ 0, %244 ], [ 0, %177 ], [ %23, %48 ], [ 0, %167 ], [ %23, %59 ], [ 0, %405 ], [ %23, %67 ], [ %23, %71 ], [ 0, %195 ]
  %422 = load ptr, ptr %12, align 4
  %423 = load i64, ptr %422, align 8
  %424 = trunc i64 %423 to i32
  %425 = getelementptr inbounds i64, ptr %422, i32 %424
  store ptr %425, ptr %12, align 4
  %426 = load i32, ptr %13, align 4
  %427 = add nsw i32 %426, 1
  store i32 %427, ptr %13, align 4
  %428 = sext i32 %427 to i64
  %429 = load ptr, ptr %5, align 4
  %430 = getelementptr inbounds nuw i8, ptr %429, i32 8
  %431 = load i64, ptr %430, align 8
  %432 = icmp sgt i64 %431, %428
  br i1 %432, label %20, label %433

433:
  %434 = phi i32 [ -1, %352 ], [ -1, %237 ], [ -1, %45 ], [ -1, %54 ], [ -1, %64 ], [ -1, %85 ], [ -1, %92 ], [ -1, %112 ], [ -1, %120 ], [ -1, %176 ], [ -1, %144 ], [ -1, %243 ], [ -1, %279 ], [ -1, %313 ], [ 0, %4 ], [ 0, %420 ]
  ret i32 %434
}

define internal fastcc void @tern_expected_apart(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2) unnamed_addr #2 {
  %4 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #8
  call fastcc void @tern_begin(ptr noundef %4, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.22) #7
  %5 = sext i32 %2 to i64
  call fastcc void @tern_add_number(ptr noundef %4, i64 noundef %5) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.7) #7
  %6 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %7 = load ptr, ptr %6, align 4
  %8 = getelementptr inbounds nuw i8, ptr %1, i32 8
  %9 = load i64, ptr %8, align 8
  %10 = trunc i64 %9 to i32
  %11 = getelementptr inbounds i8, ptr %7, i32 %10
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef %11) #7
  call fastcc void @tern_add_text(ptr noundef %4, ptr noundef nonnull @.str.23) #7
  %12 = load ptr, ptr %0, align 4
  %13 = getelementptr inbounds nuw i8, ptr %12, i32 12
  %14 = load ptr, ptr %13, align 4
  %15 = getelementptr inbounds nuw i8, ptr %4, i32 256
  %16 = load i32, ptr %15, align 8
  call void %14(ptr noundef %12, ptr noundef nonnull @.str.4, ptr noundef nonnull %4, i32 noundef %16) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #8
  ret void
}

define internal fastcc void @tern_add_text(ptr noundef nonnull captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = getelementptr inbounds %struct.TernAny, ptr %0, i32 %4
  store i32 8, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 4
  store i32 0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 8
  store i64 0, ptr %8, align 8
  store ptr %1, ptr %8, align 8
  ret void
}

define internal fastcc void @tern_add_number(ptr noundef nonnull captures(none) %0, i64 noundef %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  %4 = load i32, ptr %3, align 8
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %3, align 8
  %6 = getelementptr inbounds %struct.TernAny, ptr %0, i32 %4
  store i32 1, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 4
  store i32 0, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i32 8
  store i64 %1, ptr %8, align 8
  ret void
}

define internal fastcc void @tern_expected(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef %3) unnamed_addr #2 {
  %5 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #8
  call fastcc void @tern_begin(ptr noundef %5, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %5, ptr noundef %3) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef %1, ptr noundef %5) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #8
  ret void
}

define internal fastcc void @tern_begin(ptr noundef nonnull captures(none) initializes((256, 260)) %0, ptr noundef nonnull readonly captures(none) %1) unnamed_addr #4 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 256
  store i32 0, ptr %3, align 8
  %4 = getelementptr inbounds nuw i8, ptr %1, i32 4
  %5 = load ptr, ptr %4, align 4
  %6 = load i64, ptr %5, align 8
  %7 = trunc i64 %6 to i32
  %8 = getelementptr inbounds i8, ptr %5, i32 %7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull %8) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.6) #7
  %9 = getelementptr inbounds nuw i8, ptr %1, i32 16
  %10 = load i32, ptr %9, align 4
  %11 = sext i32 %10 to i64
  tail call fastcc void @tern_add_number(ptr noundef %0, i64 noundef %11) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.7) #7
  %12 = load ptr, ptr %4, align 4
  %13 = getelementptr inbounds nuw i8, ptr %1, i32 8
  %14 = load ptr, ptr %13, align 4
  %15 = getelementptr inbounds nuw i8, ptr %14, i32 8
  %16 = load i64, ptr %15, align 8
  %17 = trunc i64 %16 to i32
  %18 = getelementptr inbounds i8, ptr %12, i32 %17
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef %18) #7
  tail call fastcc void @tern_add_text(ptr noundef %0, ptr noundef nonnull @.str.8) #7
  ret void
}

define internal fastcc void @tern_refuse(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef nonnull %2) unnamed_addr #2 {
  tail call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.9) #7
  %4 = getelementptr inbounds nuw i8, ptr %2, i32 256
  %5 = load i32, ptr %4, align 8
  %6 = add nsw i32 %5, 1
  store i32 %6, ptr %4, align 8
  %7 = getelementptr inbounds %struct.TernAny, ptr %2, i32 %5
  store i32 4, ptr %7, align 8
  %8 = getelementptr inbounds nuw i8, ptr %7, i32 4
  store i32 0, ptr %8, align 4
  %9 = getelementptr inbounds nuw i8, ptr %7, i32 8
  store i64 0, ptr %9, align 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i32 12
  %11 = load ptr, ptr %10, align 4
  store ptr %11, ptr %9, align 8
  %12 = load ptr, ptr %0, align 4
  %13 = getelementptr inbounds nuw i8, ptr %12, i32 12
  %14 = load ptr, ptr %13, align 4
  %15 = load i32, ptr %4, align 8
  tail call void %14(ptr noundef %12, ptr noundef %1, ptr noundef nonnull %2, i32 noundef %15) #10
  ret void
}

define internal fastcc void @tern_expected_tensor(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %4 = load ptr, ptr %3, align 4
  %5 = getelementptr inbounds nuw i8, ptr %0, i32 8
  %6 = load ptr, ptr %5, align 4
  %7 = getelementptr inbounds nuw i8, ptr %6, i32 16
  %8 = load i64, ptr %7, align 8
  %9 = trunc i64 %8 to i32
  %10 = getelementptr inbounds i8, ptr %4, i32 %9
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef %10) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.12) #7
  %11 = load ptr, ptr %5, align 4
  %12 = getelementptr inbounds nuw i8, ptr %11, i32 48
  %13 = load i64, ptr %12, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %13) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.2, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_strides(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.13) #7
  %3 = load ptr, ptr %0, align 4
  %4 = getelementptr inbounds nuw i8, ptr %3, i32 12
  %5 = load ptr, ptr %4, align 4
  %6 = getelementptr inbounds nuw i8, ptr %2, i32 256
  %7 = load i32, ptr %6, align 8
  call void %5(ptr noundef %3, ptr noundef nonnull @.str.4, ptr noundef nonnull %2, i32 noundef %7) #10
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_aligned(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #2 {
  %2 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #8
  call fastcc void @tern_begin(ptr noundef %2, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.15) #7
  %3 = getelementptr inbounds nuw i8, ptr %0, i32 8
  %4 = load ptr, ptr %3, align 4
  %5 = getelementptr inbounds nuw i8, ptr %4, i32 56
  %6 = load i64, ptr %5, align 8
  call fastcc void @tern_add_number(ptr noundef %2, i64 noundef %6) #7
  call fastcc void @tern_add_text(ptr noundef %2, ptr noundef nonnull @.str.16) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %2) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #8
  ret void
}

define internal fastcc void @tern_expected_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef readonly captures(none) %3, i64 noundef %4) unnamed_addr #2 {
  %6 = alloca %struct.TernMessage, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #8
  call fastcc void @tern_begin(ptr noundef %6, ptr noundef %0) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %1) #7
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %2) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.20) #7
  %7 = load i64, ptr %3, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %20, label %9

9:
  %10 = getelementptr inbounds nuw i8, ptr %0, i32 4
  %11 = load ptr, ptr %10, align 4
  %12 = getelementptr inbounds nuw i8, ptr %11, i32 64
  %13 = getelementptr inbounds nuw i8, ptr %3, i32 8
  %14 = load i64, ptr %13, align 8
  %15 = trunc i64 %14 to i32
  %16 = getelementptr inbounds i64, ptr %12, i32 %15
  %17 = load i64, ptr %16, align 8
  %18 = trunc i64 %17 to i32
  %19 = getelementptr inbounds i8, ptr %11, i32 %18
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef %19) #7
  call fastcc void @tern_add_text(ptr noundef %6, ptr noundef nonnull @.str.21) #7
  br label %20

20:
  call fastcc void @tern_add_number(ptr noundef %6, i64 noundef %4) #7
  call fastcc void @tern_refuse(ptr noundef %0, ptr noundef nonnull @.str.4, ptr noundef %6) #7
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #8
  ret void
}

declare i64 @llvm.abs.i64(i64, i1 immarg) #5

declare i64 @llvm.smin.i64(i64, i64) #6

attributes #0 = { nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { cold noinline nounwind optsize "no-builtins" }
attributes #3 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(argmem: readwrite) "no-builtins" }
attributes #4 = { cold mustprogress nofree noinline norecurse nosync nounwind optsize willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "no-builtins" }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { cold nobuiltin "no-builtins" }
attributes #8 = { nounwind }
attributes #9 = { nobuiltin "no-builtins" }
attributes #10 = { nobuiltin nounwind "no-builtins" }

